import type { Tenant } from '@agent-service/contracts';
import { type Store, sealedColumn } from '@agent-service/store';
import {
  defineEntity,
  type EntityManager,
  environment,
  type InferEntity,
  LockMode,
  migratedIndex,
  p,
  timestamp,
} from '@agent-service/store/entities';

/** A tenant's connected database with its sealed URL. A removed one keeps its row without a URL, so that versions only go up. */
export const DataSourceEntity = defineEntity({
  name: 'DataSource',
  tableName: 'data_sources',
  indexes: [migratedIndex('data_sources_url_sealed_key_version_index')],
  checks: [{ name: 'data_sources_version_check', property: 'version', expression: 'version > 0' }],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    urlSealed: p.text().nullable(),
    version: p.integer(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
});

/** Bound to the sealed URL, so that a URL copied to another tenant does not open. */
export const urlContext = ({ organizationId, environment }: Tenant): string => `data_sources ${organizationId} ${environment} url`;

/** The URLs of data sources, with their passwords. Sealing one with a newer key does not change the data source's version. */
export const sealedUrls = sealedColumn({
  table: 'data_sources',
  column: 'url_sealed',
  key: ['organization_id', 'environment'],
  contextOf: ({ organization_id: organizationId = '', environment }) =>
    urlContext({ organizationId, environment: environment as Tenant['environment'] }),
});

/** A connected data source. */
export type DataSourceRow = InferEntity<typeof DataSourceEntity> & { urlSealed: string };

const isConnected = (row: InferEntity<typeof DataSourceEntity> | null): row is DataSourceRow => row !== null && row.urlSealed !== null;

const keyOf = ({ organizationId, environment }: Tenant) => ({ organizationId, environment });

export const findDataSource = (store: Store, tenant: Tenant): Promise<DataSourceRow | undefined> =>
  store.read(async (em) => {
    const row = await em.findOne(DataSourceEntity, keyOf(tenant));
    return isConnected(row) ? row : undefined;
  });

/** Every data source of an organization, or that of one environment. */
export const selectDataSources = (store: Store, organizationId: string, environment: string): Promise<DataSourceRow[]> =>
  store.read(async (em) => {
    const rows = await em.find(DataSourceEntity, { organizationId }, { orderBy: { environment: 'asc' } });
    return rows.filter((row) => environment === '' || row.environment === environment).filter(isConnected);
  });

export interface ReplacedDataSource {
  readonly before: DataSourceRow | undefined;
  readonly row: DataSourceRow;
}

/** Connects a data source in place of the one before. The version goes up, also over a removal. */
export async function saveDataSource(em: EntityManager, tenant: Tenant, urlSealed: string, at: number): Promise<ReplacedDataSource> {
  const now = new Date(at);
  const first = { ...keyOf(tenant), urlSealed, version: 1, createdAt: now, updatedAt: now };
  const { affectedRows } = await em.createQueryBuilder(DataSourceEntity).insert(first).onConflict().ignore().execute('run');
  if (affectedRows === 1) return { before: undefined, row: first };
  const row = await em.findOneOrFail(DataSourceEntity, keyOf(tenant), { lockMode: LockMode.PESSIMISTIC_WRITE });
  const before = isConnected(row) ? { ...row } : undefined;
  const createdAt = before ? row.createdAt : now;
  em.assign(row, { urlSealed, createdAt, updatedAt: now, version: row.version + 1 });
  await em.flush();
  return { before, row: { ...row, urlSealed } };
}

/** Returns the data source that it disconnected; undefined where none was connected. */
export async function disconnectDataSource(em: EntityManager, tenant: Tenant, at: number): Promise<DataSourceRow | undefined> {
  const row = await em.findOne(DataSourceEntity, keyOf(tenant), { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!isConnected(row)) return undefined;
  const before = { ...row };
  em.assign(row as InferEntity<typeof DataSourceEntity>, { urlSealed: null, version: row.version + 1, updatedAt: new Date(at) });
  await em.flush();
  return before;
}
