import { resolveScope } from '@agent-service/business-data';
import { formatTableScope, invalidFields, parseTableScope, ServiceError } from '@agent-service/contracts';
import type { Tenant } from '../shared/tenant.ts';
import type { Sources } from './sources.ts';

type Catalogs = Pick<Sources, 'catalogOf'>;

/** Refuses tables and columns that the tenant's connected database does not have. */
export async function checkScope(sources: Catalogs, tenant: Tenant, tables: readonly string[] | undefined): Promise<void> {
  if (tables === undefined || tables.length === 0) return;
  const catalog = await sources.catalogOf(tenant);
  // Agents stay editable while the database is away, since each query checks the scope again.
  if (!catalog || catalog === 'unreadable') return;
  const { unknown } = resolveScope(catalog, { tables, readOnly: true });
  if (unknown.length > 0)
    throw invalidFields(unknown.map(({ index, reason }) => ({ param: `data_scope.tables[${index}]`, message: reason })));
}

/** Tables of a scope that the tenant's connected database does not have. */
export interface MissingTables {
  /** Tables that are missing, or some of whose columns are. */
  readonly tables: readonly string[];
  /** A sentence for each missing table or column. */
  readonly reasons: readonly string[];
}

/** Compares a scope with the tenant's connected database: without one nothing is missing, and an unreadable one is an error. */
export async function findMissingTables(sources: Catalogs, tenant: Tenant, entries: readonly string[]): Promise<MissingTables> {
  const catalog = await sources.catalogOf(tenant);
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
