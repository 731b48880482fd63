import {
  type Catalog,
  DataFailure,
  type DataSource,
  type DataSourceConnection,
  type DataSourceSettings,
  dropScopedRoles,
  openDataSources,
  type RoleGate,
  resolveScope,
  suggestNames,
  toDataSourceSettings,
} from '@agent-service/business-data';
import {
  type Client,
  type FairLimiter,
  formatTableScope,
  invalidFields,
  parseTableScope,
  ServiceError,
  type Tenant,
} from '@agent-service/contracts';
import type { IpNetwork } from '@agent-service/outbound';
import type { ProcessContext } from '@agent-service/runtime';
import type { Cipher, Store } from '@agent-service/store';
import { tenantName, withTimeout } from '@agent-service/work';
import { z } from 'zod';
import type { ServiceDeps } from '../shared/deps.ts';
import { type DataSourceRow, findDataSource, urlContext } from './store/data-sources.ts';

/** The organizations' own databases, of which this service reads the catalogs. */
export interface Sources {
  seal(tenant: Tenant, connection: DataSourceConnection): string;
  /** Throws an error for the operator when the stored value cannot be decrypted. */
  open(row: DataSourceRow): DataSourceConnection;
  /** Drops the roles made for the tenant's scopes in the background, unless the new connection leads to the same database. */
  dropRoles(row: DataSourceRow | undefined, replacement?: DataSourceConnection): void;
  /** How to reach the database of a connection. */
  settingsOf(connection: DataSourceConnection): DataSourceSettings;
  /** The connection pool, kept open for a while and closed with the process. */
  source(tenant: Tenant, connection: DataSourceConnection): DataSource;
  forget(tenant: Tenant): void;
  catalogOf(tenant: Tenant): Promise<TenantCatalog>;
}

/** Undefined where no data source is connected. */
export type TenantCatalog = Catalog | 'unreadable' | undefined;

export interface DataSourcesDeps extends ServiceDeps {
  readonly sources: Sources;
  readonly identity: Pick<Client<'identity'>, 'authenticate'>;
  /** Limits the connections that users of an organization try at once. */
  readonly connecting: FairLimiter;
}

const poolSettings = { poolMax: 2, connectTimeoutMs: 2_000, catalogMaxAgeMs: 2_000, applicationName: 'agent-service agents' };
/** How long a caller who edits an agent waits for a database that does not answer. */
const catalogTimeoutMs = 2_500;
export const catalogTimeout = () => new DataFailure('timeout', 'The data source did not list its tables in time.');
const connectionSchema = z.object({
  url: z.string(),
  ca: z.string(),
  allowSuperuser: z.boolean().default(false),
  guarded: z.boolean().default(false),
});

export function createSources(process: ProcessContext, store: Store, cipher: Cipher, allowedNetworks: readonly IpNetwork[]): Sources {
  const pools = openDataSources(process);
  const settingsOf = (connection: DataSourceConnection) => toDataSourceSettings(connection, allowedNetworks);
  const source = (tenant: Tenant, connection: DataSourceConnection) =>
    pools.get(tenantName(tenant), { ...settingsOf(connection), ...poolSettings });
  const open = (row: DataSourceRow): DataSourceConnection => connectionSchema.parse(JSON.parse(unseal(cipher, row)));
  return {
    seal: (tenant, { url, ca, allowSuperuser, guarded }) =>
      cipher.encrypt(
        JSON.stringify({ url, ca, ...(allowSuperuser && { allowSuperuser }), ...(guarded && { guarded }) }),
        urlContext(tenant),
      ),
    open,
    settingsOf,
    source,
    dropRoles(row, replacement) {
      const before = row && openIfPossible(open, row);
      if (row && before) dropRoles(process, row, before, replacement, allowedNetworks);
    },
    forget: (tenant) => pools.remove(tenantName(tenant)),
    async catalogOf(tenant) {
      const row = await findDataSource(store, tenant);
      if (!row) return undefined;
      try {
        return await withTimeout(source(tenant, open(row)).catalog(), catalogTimeoutMs, catalogTimeout);
      } catch (cause) {
        process.logger.warn({ event: 'catalog_unavailable', ...logFieldsOf(tenant), err: cause });
        return 'unreadable';
      }
    },
  };
}

const logFieldsOf = ({ organizationId, environment }: Tenant) => ({ organization_id: organizationId, environment });

function unseal(cipher: Cipher, row: DataSourceRow): string {
  try {
    return cipher.decrypt(row.urlSealed, urlContext(row));
  } catch (cause) {
    throw new ServiceError('data_source_unavailable', { message: 'The stored data source cannot be decrypted. Connect it again.', cause });
  }
}

function openIfPossible(open: Sources['open'], row: DataSourceRow): DataSourceConnection | undefined {
  try {
    return open(row);
  } catch (cause) {
    if (cause instanceof ServiceError) return undefined;
    throw cause;
  }
}

/** Another port of the same host may be the same server after a move, so that a failure at the old port is expected. */
export function dropRoles(
  { logger, stopping }: Pick<ProcessContext, 'logger' | 'stopping'>,
  tenant: Tenant,
  before: DataSourceConnection,
  replacement: DataSourceConnection | undefined,
  allowedNetworks: readonly IpNetwork[] = [],
): void {
  const difference = replacement ? compareAddresses(before, replacement) : 'server';
  if (difference === 'none') return;
  dropScopedRoles(toDataSourceSettings(before, allowedNetworks), tenantName(tenant), stopping).then(
    (counts) => logger.info({ event: 'data_source_roles_dropped', ...logFieldsOf(tenant), ...counts }),
    (cause: unknown) => {
      const hasMoved = difference === 'port' && cause instanceof DataFailure && cause.kind === 'unavailable';
      logger[hasMoved ? 'debug' : 'warn']({ event: 'data_source_roles_not_dropped', ...logFieldsOf(tenant), err: cause });
    },
  );
}

export const toRoleGate = ({ isActive, reason }: RoleGate) => ({ active: isActive, reason });

/** A failure of a data source, as an error for the operator. */
export function toOperatorError(cause: unknown): unknown {
  if (!(cause instanceof DataFailure)) return cause;
  if (cause.kind === 'refused') return new ServiceError('invalid_request', { message: cause.message, param: 'url', cause });
  return new ServiceError('data_source_unavailable', { message: connectionMessageOf(cause.cause) ?? cause.message, cause });
}

const untrusted = 'The data source has a certificate of an unknown authority. Connect it with the certificate of its own authority.';

const silent =
  'The data source cannot be reached: its host does not answer. Check the host, and whether a firewall keeps this service out.';

/** By the codes of Node, OpenSSL and PostgreSQL. They tell a person who connects a data source what to correct; a model gets the plainer message. */
const connectionMessages: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The data source cannot be reached: no address was found for the name of its host. Check the host.',
  ECONNREFUSED: 'The data source cannot be reached: its host accepts no connection at this port. Check the host and the port.',
  EHOSTUNREACH: silent,
  ENETUNREACH: silent,
  ETIMEDOUT: silent,
  '28P01': 'The data source refuses the account: the user or the password is wrong.',
  CERT_HAS_EXPIRED: 'The certificate of the data source has expired.',
  CERT_NOT_YET_VALID: 'The certificate of the data source is not valid yet.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate of the data source is for another host than the URL names.',
  CERT_SIGNATURE_FAILURE: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
};

/** Undefined for failures that have no message of their own. */
function connectionMessageOf(cause: unknown): string | undefined {
  const { code, message } = (typeof cause === 'object' && cause !== null ? cause : {}) as { code?: unknown; message?: unknown };
  // The driver gives this failure no code.
  if (message === 'The server does not support SSL connections')
    return 'The data source does not speak TLS, which its sslmode or the given authority demands.';
  return connectionMessages[String(code)];
}

const suggestedFaults = 5;

type Catalogs = Pick<Sources, 'catalogOf'>;

/** Refuses tables and columns that the tenant's connected database does not have. */
export async function checkScope(sources: Catalogs, tenant: Tenant, tables: readonly string[] | undefined): Promise<void> {
  if (tables === undefined || tables.length === 0) return;
  const catalog = await sources.catalogOf(tenant);
  // Agents stay editable while the database is away, since each query checks the scope again.
  if (!catalog || catalog === 'unreadable') return;
  const { unknown } = resolveScope(catalog, { tables, readOnly: true });
  if (unknown.length > 0)
    throw invalidFields(
      unknown.map(({ index, reason }, position) => {
        // Comparing names costs time; a further fault is seen when the first are mended.
        const suggestion = position < suggestedFaults ? suggestNames(catalog, tables[index] ?? '') : '';
        return { param: `data_scope.tables[${index}]`, message: suggestion === '' ? reason : `${reason}. ${suggestion}` };
      }),
    );
}

/** Tables of a scope that the tenant's connected database does not have. */
interface MissingTables {
  /** Tables that are missing, or some of whose columns are. */
  readonly tables: readonly string[];
  /** A sentence for each missing table or column. */
  readonly reasons: readonly string[];
}

/** Compares a scope with the tenant's connected database: without one nothing is missing, and an unreadable one is an error if tables are needed. */
export function findMissingTables(catalog: TenantCatalog, entries: readonly string[]): MissingTables {
  if (entries.length === 0) return { tables: [], reasons: [] };
  if (catalog === 'unreadable')
    throw new ServiceError('unavailable', { message: 'The data source cannot be read at the moment. Try again.' });
  if (!catalog) return { tables: [], reasons: [] };
  const { unknown } = resolveScope(catalog, { tables: entries, readOnly: true });
  return {
    tables: [...new Set(unknown.map(({ index }) => tableOf(entries[index] ?? '')))],
    reasons: [...new Set(unknown.map(({ reason }) => reason))],
  };
}

function tableOf(entry: string): string {
  const scope = parseTableScope(entry);
  return scope ? formatTableScope({ ...scope, columns: null }) : entry;
}

const defaultPort = 5432;

/** The server and the account that the URL names. */
export function addressOf({ url }: Pick<DataSourceConnection, 'url'>) {
  const { hostname, port, pathname, username, searchParams } = new URL(url);
  return {
    host: searchParams.get('host') ?? hostname,
    port: Number(port || defaultPort),
    database: decodeURIComponent(pathname.slice(1)),
    user: decodeURIComponent(username),
  };
}

type AddressDifference = 'none' | 'port' | 'server';

function compareAddresses(one: DataSourceConnection, other: DataSourceConnection): AddressDifference {
  const [a, b] = [addressOf(one), addressOf(other)];
  if (a.host !== b.host || a.database !== b.database || a.user !== b.user) return 'server';
  return a.port === b.port ? 'none' : 'port';
}
