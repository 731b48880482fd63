import { resolveScope } from '@agent-service/business-data';
import type { Tenant } from '../domain/tenant.ts';
import type { Sources } from './sources.ts';

export interface UnmetTable {
  /** As it was asked for. */
  readonly table: string;
  readonly reason: string;
}

/** Those tables that the tenant's connected database does not have, or not with these columns. Without one nothing can be missing. */
export async function unmetTables(sources: Sources, tenant: Tenant, tables: readonly string[]): Promise<UnmetTable[]> {
  const catalog = await sources.catalogOf(tenant);
  if (!catalog) return [];
  const { unknown } = resolveScope(catalog, { tables, readOnly: true });
  return unknown.map(({ index, reason }) => ({ table: tables[index] ?? '', reason }));
}
