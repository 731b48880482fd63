import type { Tenant } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import type { Discrepancy } from '../../domain/equations.ts';
import { findDiscrepancies } from './steps.ts';

/** Compares a table of first and last days of usage with a rollup. */
function compareDays(table: string, rollup: string, keys: readonly string[]): string {
  const columns = keys.join(', ');
  return `
    with counted as (
      select ${columns}, min(day) as first_day, max(day) as last_day from ${rollup}
      where organization_id = $1 and environment = $2 group by ${columns}
    ), kept as (
      select ${columns}, first_day, last_day from ${table} where organization_id = $1 and environment = $2
    )
    select concat_ws(' ', '${table}', ${columns}) as account, 'first and last day = those of the rollup (days between them)' as equation,
      coalesce(counted.last_day - counted.first_day, -1) as expected, coalesce(kept.last_day - kept.first_day, -1) as actual
    from counted full join kept using (${columns})
    where (counted.first_day, counted.last_day) is distinct from (kept.first_day, kept.last_day) limit $3`;
}

export const firstAndLastDayStatements = {
  userTotals: `
    with counted as (
      select user_id, sum(credits) as credits, sum(queries) as queries from usage_by_user
      where organization_id = $1 and environment = $2 group by user_id
    ), kept as (
      select user_id, credits_total, queries_total from usage_users where organization_id = $1 and environment = $2
    )
    select concat_ws(' ', 'usage_users', user_id) as account, figure as equation, expected, actual
    from counted full join kept using (user_id), lateral (values
      ('total credits = those of the rollup', coalesce(counted.credits, 0), coalesce(kept.credits_total, 0)),
      ('total queries = those of the rollup', coalesce(counted.queries, 0), coalesce(kept.queries_total, 0))
    ) as compared(figure, expected, actual)
    where expected <> actual limit $3`,
  userDays: compareDays('usage_users', 'usage_by_user', ['user_id']),
  agentDays: compareDays('usage_agents', 'usage_by_agent', ['agent_id']),
  userAgentDays: compareDays('usage_user_agents', 'usage_by_user_agent', ['user_id', 'agent_id']),
} as const;

/** Compares the first and last days of users, agents and pairs of them, and the totals of users, with the rollups. */
export async function verifyFirstAndLastDays(sql: Sql, { organizationId, environment }: Tenant): Promise<Discrepancy[]> {
  const discrepancies: Discrepancy[] = [];
  for (const statement of Object.values(firstAndLastDayStatements)) {
    discrepancies.push(...(await findDiscrepancies(sql, statement, [organizationId, environment])));
  }
  return discrepancies;
}
