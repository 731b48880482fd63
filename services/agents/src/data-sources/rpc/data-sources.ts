import { X509Certificate } from 'node:crypto';
import { type Catalog, createDataSource, type DataSource, type DataSourceConnection, nameInScope } from '@agent-service/business-data';
import {
  type Call,
  checkTenant,
  operatorService,
  type Policy,
  type RpcOf,
  ServiceError,
  services,
  type Tenant,
} from '@agent-service/contracts';
import { writeAudit } from '@agent-service/store';
import { checkAttempt } from '../../shared/answer.ts';
import { addressOf, type DataSourcesDeps, toOperatorError, toRoleGate } from '../sources.ts';
import { type DataSourceRow, disconnectDataSource, findDataSource, saveDataSource, selectDataSources } from '../store/data-sources.ts';
import { loadStepScope } from '../store/steps.ts';

const operatorsAndPortal: Policy = { services: [operatorService, 'portal'] };

/** The author of a change to a data source. */
interface Author {
  readonly tenant: Tenant;
  /** The administrator of the tenant who acts in the portal; undefined for an operator of the service. */
  readonly user?: { readonly type: 'user'; readonly id: string; readonly keyId: string };
}

interface AuthoredRequest {
  readonly organizationId: string;
  readonly environment: string;
  readonly accessToken: string;
}

/** An operator may name any tenant. For the portal, identity tells whose token the request brings; that user must be an administrator now. */
async function authorOf({ identity }: DataSourcesDeps, { accessToken, ...named }: AuthoredRequest, { caller }: Call): Promise<Author> {
  if (caller.service === operatorService) return { tenant: checkTenant(named) };
  const { results } = await identity.authenticate({ tokens: [accessToken], agentTokens: false });
  const principal = results[0]?.principal;
  if (!principal) throw new ServiceError('unauthorized');
  const { organizationId, environment, userId, credentialId, admin, role } = principal;
  if (!admin || role !== 'admin') throw new ServiceError('admin_required', { message: 'Only administrators may do this.' });
  return { tenant: checkTenant({ organizationId, environment }), user: { type: 'user', id: userId, keyId: credentialId } };
}

/** Refuses an author who may not act for the tenant any more. */
async function checkAuthor(deps: DataSourcesDeps, request: AuthoredRequest, call: Call, { tenant, user }: Author): Promise<void> {
  const current = await authorOf(deps, request, call);
  const { organizationId, environment } = current.tenant;
  if (organizationId !== tenant.organizationId || environment !== tenant.environment || current.user?.id !== user?.id)
    throw new ServiceError('unauthorized');
}

/** Connects a database that answers, in place of the one before. */
export const connectDataSource = (deps: DataSourcesDeps): RpcOf<'agents', 'connectDataSource'> => ({
  allow: operatorsAndPortal,
  async handle(request, call) {
    const { store, sources, auditRelay, now } = deps;
    const author = await authorOf(deps, request, call);
    const { tenant, user } = author;
    if (user && request.allowSuperuser) throw new ServiceError('service_forbidden');
    const connection = connectionOf(request, { guarded: user !== undefined, allowSuperuser: request.allowSuperuser });
    const { tables, roleGate } = await readFor(deps, connection, { tenant, user, signal: call.signal }, readTables);
    // The reading may have taken seconds, in which a session can end.
    await checkAuthor(deps, request, call, author);
    const { row, before } = await store.transaction(async ({ sql, em }) => {
      const saved = await saveDataSource(em, tenant, sources.seal(tenant, connection), now());
      call.checkDeadline();
      const { host, port, database, user: account, tls } = toDataSource(saved.row, connection);
      await writeAudit(sql, call, {
        ...tenant,
        ...(user && { actor: user }),
        action: 'data_source.connected',
        target: { type: 'data_source', id: `${host}:${port}/${database}` },
        changes: { host, port, database, user: account, tls, ...(connection.allowSuperuser && { allow_superuser: true }) },
      });
      return saved;
    });
    sources.forget(tenant);
    sources.dropRoles(before, connection);
    auditRelay.nudge();
    return { dataSource: toDataSource(row, connection), tables, roleGate };
  },
});

const connectionOf = (
  { url, caCertificate }: { readonly url: string; readonly caCertificate: string },
  { guarded, allowSuperuser = false }: { readonly guarded: boolean; readonly allowSuperuser?: boolean },
): DataSourceConnection => ({ url, ca: checkCertificate(caCertificate), allowSuperuser, guarded });

function checkCertificate(pem: string): string {
  try {
    if (pem !== '') new X509Certificate(pem);
    return pem;
  } catch (cause) {
    const message = 'The certificate cannot be read; give it in PEM.';
    throw new ServiceError('invalid_request', { message, param: 'ca_certificate', cause });
  }
}

interface ReadAuthor {
  readonly tenant: Tenant;
  readonly user: object | undefined;
  readonly signal: AbortSignal;
}

/** Reads a database that is not connected yet. Users of an organization wait for each other, operators for no user. */
async function readFor<T>(
  deps: DataSourcesDeps,
  connection: DataSourceConnection,
  { tenant, user, signal }: ReadAuthor,
  read: (source: DataSource) => Promise<T>,
): Promise<T> {
  const onLost = (cause: unknown) => deps.logger.warn({ event: 'data_source_connection_lost', err: cause });
  const work = async () => {
    const source = createDataSource(
      { ...deps.sources.settingsOf(connection), poolMax: 1, applicationName: 'agent-service agents' },
      onLost,
    );
    try {
      return await read(source);
    } finally {
      await source.close();
    }
  };
  try {
    return user ? await deps.connecting.run(tenant.organizationId, work, signal) : await work();
  } catch (cause) {
    throw toOperatorError(cause);
  }
}

const readTables = async (source: DataSource) => ({
  tables: tableNames(await source.catalog()),
  roleGate: toRoleGate(await source.roleGate()),
});

async function checkSource(source: DataSource) {
  const { version: serverVersion, durationMs } = await source.check();
  return { serverVersion, durationMs: Math.round(durationMs), ...(await readTables(source)) };
}

export const testDataSource = (deps: DataSourcesDeps): RpcOf<'agents', 'testDataSource'> => ({
  allow: operatorsAndPortal,
  async handle(request, call) {
    const { store, sources } = deps;
    const { tenant, user } = await authorOf(deps, request, call);
    const author = { tenant, user, signal: call.signal };
    if (request.url !== '') return await readFor(deps, connectionOf(request, { guarded: user !== undefined }), author, checkSource);
    const row = await findDataSource(store, tenant);
    if (!row) throw new ServiceError('not_found', { message: 'No data source is connected here.' });
    const connection = sources.open(row);
    try {
      return { dataSource: toVisible(row, connection, user), ...(await checkSource(sources.source(tenant, connection))) };
    } catch (cause) {
      throw toOperatorError(cause);
    }
  },
});

export const listDataSources = (deps: DataSourcesDeps): RpcOf<'agents', 'listDataSources'> => {
  const { store, sources, logger } = deps;
  /** One row that cannot be decrypted must not hide the others. */
  function toListItem(row: DataSourceRow, user: object | undefined) {
    try {
      return toVisible(row, sources.open(row), user);
    } catch (cause) {
      const { organizationId, environment } = row;
      logger.warn({ event: 'data_source_unopened', organization_id: organizationId, environment, err: cause });
      return toSealedDataSource(row);
    }
  }
  return {
    allow: operatorsAndPortal,
    async handle(request, call) {
      // An operator may name no environment, which lists both.
      const isOperator = call.caller.service === operatorService;
      const { tenant, user } = isOperator ? { tenant: request, user: undefined } : await authorOf(deps, request, call);
      const rows = await selectDataSources(store, tenant.organizationId, tenant.environment);
      return { dataSources: rows.map((row) => toListItem(row, user)) };
    },
  };
};

/** Removing a data source that is not connected changes nothing and is no error. */
export const removeDataSource = (deps: DataSourcesDeps): RpcOf<'agents', 'removeDataSource'> => ({
  allow: operatorsAndPortal,
  async handle(request, call) {
    const { store, sources, auditRelay, now } = deps;
    const { tenant, user } = await authorOf(deps, request, call);
    const before = await store.transaction(async ({ sql, em }) => {
      const row = await disconnectDataSource(em, tenant, now());
      call.checkDeadline();
      if (row)
        await writeAudit(sql, call, {
          ...tenant,
          ...(user && { actor: user }),
          action: 'data_source.removed',
          target: { type: 'data_source', id: tenant.environment },
        });
      return row;
    });
    sources.forget(tenant);
    sources.dropRoles(before);
    auditRelay.nudge();
    return { removed: before !== undefined };
  },
});

/** Only a worker that runs an answer of the tenant gets the connection to its database. */
export const getDataSource = ({ store, sources }: DataSourcesDeps): RpcOf<'agents', 'getDataSource'> => ({
  allow: services('answer-worker'),
  async handle(request) {
    const attempt = checkAttempt(request.answer);
    if (!(await loadStepScope(store.sql, attempt))) throw new ServiceError('attempt_superseded');
    const row = await findDataSource(store, attempt);
    if (!row) throw new ServiceError('not_found', { message: 'No data source is connected.' });
    const { url, ca, allowSuperuser, guarded } = sources.open(row);
    return { url, caCertificate: ca, version: row.version, allowSuperuser, guarded };
  },
});

/** Users do not see the address and account of a database that an operator connected. */
const toVisible = (row: DataSourceRow, connection: DataSourceConnection, user: object | undefined) =>
  user === undefined || connection.guarded ? toDataSource(row, connection) : toSealedDataSource(row);

/** Everything but the password. */
const toDataSource = (row: DataSourceRow, connection: DataSourceConnection) => ({
  ...toSealedDataSource(row),
  guarded: connection.guarded,
  ...addressOf(connection),
  tls: tlsOf(new URL(connection.url).searchParams.get('sslmode'), connection.ca),
});

/** The fields that are not encrypted. */
const toSealedDataSource = ({ organizationId, environment, version, createdAt, updatedAt }: DataSourceRow) => ({
  organizationId,
  environment,
  host: '',
  port: 0,
  database: '',
  user: '',
  tls: '',
  guarded: false,
  version,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

function tlsOf(mode: string | null, ca: string): string {
  if (ca !== '') return mode === 'verify-ca' ? mode : 'verify';
  if (mode === null || mode === 'disable') return 'off';
  return mode === 'require' ? 'require' : 'verify';
}

/** As a data scope names them. */
const tableNames = (catalog: Catalog): string[] => catalog.tables.map((table) => nameInScope(catalog, table)).sort();
