import { resolveScope } from '@agent-service/business-data';
import { formatTableScope, parseTableScope, ServiceError } from '@agent-service/contracts';
import type { Tenant } from '../shared/tenant.ts';
import type { Sources } from './sources.ts';

/** What a tenant's connected database lacks. */
export interface Unmet {
  /** The tables that are not there, or not with all of their columns. */
  readonly tables: readonly string[];
  /** In words, one for each thing that is missing. */
  readonly reasons: readonly string[];
}

/**
 * Holds entries of a scope against the tenant's connected database. Without one nothing can be missing; one that can not be read
 * can not vouch for what an agent is about to be made for.
 */
export async function unmetTables(sources: Sources, tenant: Tenant, entries: readonly string[]): Promise<Unmet> {
  const catalog = await sources.catalogOf(tenant);
  if (catalog === 'unreadable')
    throw new ServiceError('unavailable', { message: 'The data source can not be read at the moment. Try again.' });
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
