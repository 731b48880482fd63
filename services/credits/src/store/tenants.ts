import type { Sql } from '@agent-service/store';
import type { Tenant } from '../domain/accounts.ts';

/** The tenant with a ledger that follows the given one, of one organization or, where that is empty, of all. */
export async function nextTenant(sql: Sql, organizationId: string, after: Tenant | undefined): Promise<Tenant | undefined> {
  const [row] = await sql<Tenant>(
    `select organization_id as "organizationId", environment from ledgers
     where (organization_id, environment) > ($2, $3) and ($1 = '' or organization_id = $1)
     order by organization_id, environment limit 1`,
    [organizationId, after?.organizationId ?? '', after?.environment ?? ''],
  );
  return row;
}
