import { X509Certificate } from 'node:crypto';
import {
  type Catalog,
  createDataSource,
  type DataSourceConnection,
  type RoleGate,
  toDataSourceSettings,
} from '@agent-service/business-data';
import { checkTenant, operators, type RpcOf, ServiceError, services } from '@agent-service/contracts';
import { writeAudit } from '@agent-service/store';
import { checkAttempt } from '../shared/answer.ts';
import { addressOf, type DataSourcesDeps, toOperatorError } from './sources.ts';
import {
  type DataSourceRow,
  findDataSource,
  removeDataSource as removeRow,
  saveDataSource,
  listDataSources as selectDataSources,
} from './store/data-sources.ts';
import { loadStepScope } from './store/steps.ts';

/** Connects a database that answers, in place of the one before. */
export const connectDataSource = (deps: DataSourcesDeps): RpcOf<'agents', 'connectDataSource'> => ({
  allow: operators,
  async handle(request, call) {
    const { store, sources, auditRelay, logger, now } = deps;
    const tenant = checkTenant(request);
    const connection = { url: request.url, ca: checkCertificate(request.caCertificate), allowSuperuser: request.allowSuperuser };
    const survey = await surveyDatabase(connection, (cause) => logger.warn({ event: 'data_source_connection_lost', err: cause }));
    const { row, before } = await store.transaction(async ({ sql, em }) => {
      const saved = await saveDataSource(em, tenant, sources.seal(tenant, connection), now());
      const { host, port, database, user, tls } = toDataSource(saved.row, connection);
      await writeAudit(sql, call, {
        ...tenant,
        action: 'data_source.connected',
        target: { type: 'data_source', id: `${host}:${port}/${database}` },
        changes: { host, port, database, user, tls, ...(connection.allowSuperuser && { allow_superuser: true }) },
      });
      return saved;
    });
    sources.forget(tenant);
    sources.dropRoles(before, connection);
    auditRelay.nudge();
    return { dataSource: toDataSource(row, connection), ...survey };
  },
});

function checkCertificate(pem: string): string {
  try {
    if (pem !== '') new X509Certificate(pem);
    return pem;
  } catch (cause) {
    const message = 'The certificate cannot be read; give it in PEM.';
    throw new ServiceError('invalid_request', { message, param: 'ca_certificate', cause });
  }
}

async function surveyDatabase(connection: DataSourceConnection, onLost: (cause: unknown) => void) {
  try {
    const settings = { ...toDataSourceSettings(connection), poolMax: 1, applicationName: 'agent-service agents' };
    const source = createDataSource(settings, onLost);
    try {
      return { tables: tableNames(await source.catalog()), roleGate: toRoleGate(await source.roleGate()) };
    } finally {
      await source.close();
    }
  } catch (cause) {
    throw toOperatorError(cause);
  }
}

export const testDataSource = ({ store, sources }: DataSourcesDeps): RpcOf<'agents', 'testDataSource'> => ({
  allow: operators,
  async handle(request) {
    const tenant = checkTenant(request);
    const row = await findDataSource(store, tenant);
    if (!row) throw new ServiceError('not_found', { message: 'No data source is connected here.' });
    const connection = sources.open(row);
    const source = sources.source(tenant, connection);
    try {
      const { version, durationMs } = await source.check();
      return {
        dataSource: toDataSource(row, connection),
        serverVersion: version,
        durationMs: Math.round(durationMs),
        tables: tableNames(await source.catalog()),
        roleGate: toRoleGate(await source.roleGate()),
      };
    } catch (cause) {
      throw toOperatorError(cause);
    }
  },
});

export const listDataSources = ({ store, sources, logger }: DataSourcesDeps): RpcOf<'agents', 'listDataSources'> => {
  /** One row that cannot be decrypted must not hide the others. */
  function toListItem(row: DataSourceRow) {
    try {
      return toDataSource(row, sources.open(row));
    } catch (cause) {
      const { organizationId, environment } = row;
      logger.warn({ event: 'data_source_unopened', organization_id: organizationId, environment, err: cause });
      return toSealedDataSource(row);
    }
  }
  return {
    allow: operators,
    async handle({ organizationId, environment }) {
      const rows = await selectDataSources(store, organizationId, environment);
      return { dataSources: rows.map(toListItem) };
    },
  };
};

/** Removing a data source that is not connected changes nothing and is no error. */
export const removeDataSource = ({ store, sources, auditRelay, now }: DataSourcesDeps): RpcOf<'agents', 'removeDataSource'> => ({
  allow: operators,
  async handle(request, call) {
    const tenant = checkTenant(request);
    const before = await store.transaction(async ({ sql, em }) => {
      const row = await removeRow(em, tenant, now());
      if (row)
        await writeAudit(sql, call, { ...tenant, action: 'data_source.removed', target: { type: 'data_source', id: tenant.environment } });
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
    if (!(await loadStepScope(store.sql, attempt, false))) throw new ServiceError('attempt_superseded');
    const row = await findDataSource(store, attempt);
    if (!row) throw new ServiceError('not_found', { message: 'No data source is connected.' });
    const { url, ca, allowSuperuser } = sources.open(row);
    return { url, caCertificate: ca, version: row.version, allowSuperuser };
  },
});

/** Everything but the password. */
const toDataSource = (row: DataSourceRow, connection: DataSourceConnection) => ({
  ...toSealedDataSource(row),
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
  version,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

function tlsOf(mode: string | null, ca: string): string {
  if (ca !== '') return mode === 'verify-ca' ? mode : 'verify';
  if (mode === null || mode === 'disable') return 'off';
  return mode === 'require' ? 'require' : 'verify';
}

const toRoleGate = ({ isActive, reason }: RoleGate) => ({ active: isActive, reason });

/** As a data scope names them. */
const tableNames = ({ defaultSchema, tables }: Catalog): string[] =>
  tables.map(({ schema, name }) => (schema === defaultSchema ? name : `${schema}.${name}`)).sort();
