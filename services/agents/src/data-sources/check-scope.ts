import { resolveScope } from '@agent-service/business-data';
import { invalidFields } from '@agent-service/contracts';
import type { Tenant } from '../shared/tenant.ts';
import type { Sources } from './sources.ts';

/** Refuses tables and columns that the tenant's connected database does not have. */
export async function checkScope(sources: Sources, tenant: Tenant, tables: readonly string[] | undefined): Promise<void> {
  if (tables === undefined || tables.length === 0) return;
  const catalog = await sources.catalogOf(tenant);
  // An agent must be editable while its organization's database is away; queries are held against the scope all the same.
  if (!catalog || catalog === 'unreadable') return;
  const { unknown } = resolveScope(catalog, { tables, readOnly: true });
  if (unknown.length > 0)
    throw invalidFields(unknown.map(({ index, reason }) => ({ param: `data_scope.tables[${index}]`, message: reason })));
}
