import {
  type Catalog,
  type CatalogColumn,
  type CatalogTable,
  DataFailure,
  type DataSource,
  maxCommentLength,
  nameInScope,
} from '@agent-service/business-data';
import { callers, type RpcOf, ServiceError, tenantOf } from '@agent-service/contracts';
import { firstCharacters } from '@agent-service/contracts/strings';
import { limitOf } from '@agent-service/store';
import { withTimeout } from '@agent-service/work';
import { catalogTimeout, type DataSourcesDeps, toRoleGate } from '../sources.ts';
import { findDataSource } from '../store/data-sources.ts';

/** Less than the caller waits. */
const surveyTimeoutMs = 4_000;
/** A page ends early at this size, so that tables with many columns fit a message between services. */
const maxPageBytes = 1_000_000;

const reasons: Readonly<Record<string, string>> = {
  timeout: 'It did not list its tables in time.',
  unavailable: 'It cannot be reached, refuses the login, or is busy.',
};
/** The operator's commands name the account and the server, which callers do not get to know. */
const otherReason = 'The connection does not fit. The operator sees why with `data-source test`.';

/** The tables of the connected database, a page at a time. No answer says how the database is reached. */
export const describeDataSource = ({ store, sources, cursors, logger }: DataSourcesDeps): RpcOf<'agents', 'describeDataSource'> => ({
  // For those who write data scopes.
  allow: callers({ scope: 'agents:write' }),
  async handle({ page }, call) {
    const tenant = tenantOf(call);
    const binding = ['data source', tenant.organizationId, tenant.environment];
    const after = cursors.decode(binding, page?.cursor ?? '')?.after[0];
    const row = await findDataSource(store, tenant);
    if (!row) return { ...empty, status: 'none' };
    try {
      const { catalog, roleGate } = await readTables(sources.source(tenant, sources.open(row)));
      const all = sortedTables(catalog);
      const selected = pageOf(all, after === undefined ? '' : String(after), limitOf(page, 50, 200));
      const last = selected.at(-1);
      const nextCursor = last && last.name !== all.at(-1)?.name ? cursors.encode(binding, { after: [last.name] }) : '';
      return { status: 'connected', reason: '', roleGate, tables: selected, page: { total: all.length, nextCursor } };
    } catch (cause) {
      const reason = reasonOf(cause);
      logger.warn({ event: 'catalog_unavailable', organization_id: tenant.organizationId, environment: tenant.environment, err: cause });
      return { ...empty, status: 'unreadable', reason };
    }
  },
});

async function readTables(source: DataSource) {
  const read = async () => ({ catalog: await source.catalog(), roleGate: toRoleGate(await source.roleGate()) });
  return await withTimeout(read(), surveyTimeoutMs, catalogTimeout);
}

/** Rethrows errors that are not failures of the data source. */
function reasonOf(cause: unknown): string {
  if (cause instanceof DataFailure) return reasons[cause.kind] ?? otherReason;
  if (cause instanceof ServiceError && cause.code === 'data_source_unavailable') return otherReason;
  throw cause;
}

const empty = { reason: '', tables: [], page: { total: 0, nextCursor: '' } };

interface NamedTable {
  /** As a data scope names it. */
  readonly name: string;
  readonly table: CatalogTable;
}

const sorted = new WeakMap<Catalog, readonly NamedTable[]>();

/** The tables by name, sorted once for all pages of a catalog: there may be thousands. */
function sortedTables(catalog: Catalog): readonly NamedTable[] {
  const known = sorted.get(catalog);
  if (known) return known;
  const named = catalog.tables.map((table) => ({
    name: nameInScope(catalog, table),
    table,
  }));
  named.sort((a, b) => (a.name < b.name ? -1 : 1));
  sorted.set(catalog, named);
  return named;
}

function pageOf(all: readonly NamedTable[], after: string, limit: number): Table[] {
  const selected: Table[] = [];
  const first = all.findIndex(({ name }) => name > after);
  let bytes = 0;
  for (const named of first < 0 ? [] : all.slice(first, first + limit)) {
    const table = toTable(named);
    bytes += JSON.stringify(table).length;
    if (bytes > maxPageBytes && selected.length > 0) break;
    selected.push(table);
  }
  return selected;
}

type Table = ReturnType<typeof toTable>;

const toTable = ({ name, table: { schema, kind, comment, columns, primaryKey, approximateRows } }: NamedTable) => ({
  name,
  schema,
  kind,
  comment: boundComment(comment),
  ...(approximateRows !== null && { rowEstimate: Math.round(approximateRows) }),
  columns: columns.map((column) => toColumn(column, primaryKey)),
});

const toColumn = ({ name, type, nullable, comment }: CatalogColumn, primaryKey: readonly string[]) => ({
  name,
  type,
  nullable,
  primaryKey: primaryKey.includes(name),
  comment: boundComment(comment),
});

/** Cuts a comment again, because a database may ignore the limit that the survey of its tables names. */
const boundComment = (comment: string | null): string => firstCharacters(comment ?? '', maxCommentLength);
