import {
  type Catalog,
  DataFailure,
  type DataSource,
  type DataSourceConnection,
  type DataSources,
  openDataSources,
  toDataSourceSettings,
} from '@agent-service/business-data';
import { ServiceError } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import type { Cipher, Store } from '@agent-service/store';
import { tenantName, withTimeout } from '@agent-service/work';
import { z } from 'zod';
import type { Tenant } from '../shared/tenant.ts';
import { leaveRoles } from './leave-roles.ts';
import { type DataSourceRow, findDataSource } from './store/data-sources.ts';
import { urlContext } from './store/sealed-urls.ts';
import { tlsFailure } from './tls-failure.ts';

/** The organizations' own databases, as far as agents looks into them: which tables and columns there are. */
export interface Sources {
  seal(tenant: Tenant, place: DataSourceConnection): string;
  /** Throws what the operator is told where it does not open. */
  open(row: DataSourceRow): DataSourceConnection;
  /** Takes the roles away that were made for the tenant's scopes, unless its data is still there; nobody waits for it. */
  leave(row: DataSourceRow | undefined, now?: DataSourceConnection): void;
  /** Kept open for a while, and closed with the process. */
  source(tenant: Tenant, place: DataSourceConnection): DataSource;
  forget(tenant: Tenant): void;
  /** Undefined where none is connected. */
  catalogOf(tenant: Tenant): Promise<Catalog | 'unreadable' | undefined>;
}

const few = { poolMax: 2, connectTimeoutMs: 2_000, catalogMaxAgeMs: 2_000, applicationName: 'agent-service agents' };
/** Whoever edits an agent waits no longer for a database that keeps silent. */
const catalogWaitMs = 2_500;
const silent = () => new DataFailure('timeout', 'The data source did not say in time which tables it has.');
const placeSchema = z.object({ url: z.string(), ca: z.string(), allowSuperuser: z.boolean().default(false) });

export function createSources(process: ProcessContext, store: Store, cipher: Cipher): Sources {
  const open: DataSources = openDataSources(process);
  const source = (tenant: Tenant, place: DataSourceConnection) => open.get(tenantName(tenant), { ...toDataSourceSettings(place), ...few });
  const unseal = (row: DataSourceRow): DataSourceConnection => placeSchema.parse(JSON.parse(unsealed(cipher, row)));
  return {
    seal: (tenant, { url, ca, allowSuperuser }) =>
      cipher.encrypt(JSON.stringify({ url, ca, ...(allowSuperuser && { allowSuperuser }) }), urlContext(tenant)),
    open: unseal,
    source,
    leave(row, now) {
      const before = row && opened(unseal, row);
      if (row && before) leaveRoles(process, row, { before, now });
    },
    forget: (tenant) => open.remove(tenantName(tenant)),
    async catalogOf(tenant) {
      const row = await findDataSource(store.sql, tenant);
      if (!row) return undefined;
      try {
        return await withTimeout(source(tenant, unseal(row)).catalog(), catalogWaitMs, silent);
      } catch (cause) {
        process.logger.warn({
          event: 'catalog_unavailable',
          organization_id: tenant.organizationId,
          environment: tenant.environment,
          err: cause,
        });
        return 'unreadable';
      }
    },
  };
}

function unsealed(cipher: Cipher, row: DataSourceRow): string {
  try {
    return cipher.decrypt(row.urlSealed, urlContext(row));
  } catch (cause) {
    const message = 'What is kept of the data source can not be opened any more. Connect it again.';
    throw new ServiceError('data_source_unavailable', { message, cause });
  }
}

/** What does not open leads nowhere. */
function opened(unseal: (row: DataSourceRow) => DataSourceConnection, row: DataSourceRow): DataSourceConnection | undefined {
  try {
    return unseal(row);
  } catch (cause) {
    if (cause instanceof ServiceError) return undefined;
    throw cause;
  }
}

/** What keeps a data source from being used, as the operator is told. */
export function sourceFailure(cause: unknown): unknown {
  if (!(cause instanceof DataFailure)) return cause;
  if (cause.kind === 'refused') return new ServiceError('invalid_request', { message: cause.message, param: 'url', cause });
  return new ServiceError('data_source_unavailable', { message: tlsFailure(cause.cause) ?? cause.message, cause });
}
