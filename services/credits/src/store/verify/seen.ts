import type { Sql } from '@agent-service/store';
import type { Tenant } from '../../domain/accounts.ts';
import type { Discrepancy } from '../../domain/equations.ts';

const faultsAtMost = 100;

/** The rows that say when someone was seen first and last, with the rollup that they must agree with. */
const seen: Readonly<Record<string, { rollup: string; keys: readonly string[] }>> = {
  usage_users: { rollup: 'usage_by_user', keys: ['user_id'] },
  usage_agents: { rollup: 'usage_by_agent', keys: ['agent_id'] },
  usage_user_agents: { rollup: 'usage_by_user_agent', keys: ['user_id', 'agent_id'] },
};

/** Proves the first and last days of users, agents and pairs of them, and the totals of users. */
export async function verifySeen(sql: Sql, tenant: Tenant): Promise<Discrepancy[]> {
  const { organizationId, environment } = tenant;
  const found = await verifyTotals(sql, tenant);
  for (const [table, { rollup, keys }] of Object.entries(seen)) {
    const rows = await sql<{ account: string; expected: string; actual: string }>(
      `with counted as (
         select ${keys.join(', ')}, min(day) as first_day, max(day) as last_day from ${rollup}
         where organization_id = $1 and environment = $2 group by ${keys.join(', ')}
       ), kept as (
         select ${keys.join(', ')}, first_day, last_day from ${table} where organization_id = $1 and environment = $2
       )
       select concat_ws(' ', '${table}', ${keys.join(', ')}) as account,
         coalesce(counted.last_day - counted.first_day, -1) as expected, coalesce(kept.last_day - kept.first_day, -1) as actual
       from counted full join kept using (${keys.join(', ')})
       where (counted.first_day, counted.last_day) is distinct from (kept.first_day, kept.last_day) limit $3`,
      [organizationId, environment, faultsAtMost],
    );
    found.push(
      ...rows.map(({ account, expected, actual }) => ({
        account,
        equation: 'first and last day = those of the rollup (days between them)',
        expected: Number(expected),
        actual: Number(actual),
      })),
    );
  }
  return found;
}

async function verifyTotals(sql: Sql, { organizationId, environment }: Tenant): Promise<Discrepancy[]> {
  const rows = await sql<{ account: string; equation: string; expected: string; actual: string }>(
    `with counted as (
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
    [organizationId, environment, faultsAtMost],
  );
  return rows.map(({ account, equation, expected, actual }) => ({
    account,
    equation,
    expected: Number(expected),
    actual: Number(actual),
  }));
}
