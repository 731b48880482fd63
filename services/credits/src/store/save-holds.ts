import type { Sql } from '@agent-service/store';
import type { Hold } from '../domain/holds.ts';
import type { Tenant } from '../domain/tenant.ts';

const add = `
  insert into holds (organization_id, environment, id, user_id, amount, deadline, state, charge, settled_as, refusal, created_at, ended_at)
  select $1, $2, id, user_id, amount, to_timestamp(deadline / 1000), state, charge, settled_as, refusal, to_timestamp($3::float8 / 1000),
    case when state <> 'open' then to_timestamp($3::float8 / 1000) end
  from unnest($4::text[], $5::text[], $6::integer[], $7::float8[], $8::text[], $9::integer[], $10::bigint[], $11::jsonb[])
    as hold(id, user_id, amount, deadline, state, charge, settled_as, refusal)`;

// Always a conflict, and so always by the key: for an update joined with the arrays the planner may read the whole tenant.
const end = `${add}
  on conflict (organization_id, environment, id) do update set state = excluded.state, charge = excluded.charge,
    settled_as = excluded.settled_as, ended_at = excluded.ended_at`;

/** Adds the holds that are new and ends those that were there. A batch happens at one instant: there its holds begin and end. */
export async function saveHolds(sql: Sql, tenant: Tenant, before: ReadonlyMap<string, unknown>, holds: readonly Hold[]): Promise<void> {
  const known = holds.filter(({ id }) => before.has(id));
  const fresh = known.length === 0 ? holds : holds.filter(({ id }) => !before.has(id));
  if (fresh.length > 0) await sql(add, valuesOf(tenant, fresh[0]?.createdAt, fresh));
  if (known.length > 0) await sql(end, valuesOf(tenant, known[0]?.endedAt, known));
}

const valuesOf = ({ organizationId, environment }: Tenant, at: number | null | undefined, holds: readonly Hold[]): unknown[] => [
  organizationId,
  environment,
  at,
  holds.map(({ id }) => id),
  holds.map(({ userId }) => userId),
  holds.map(({ amount }) => amount),
  holds.map(({ deadline }) => deadline),
  holds.map(({ state }) => state),
  holds.map(({ charge }) => charge),
  holds.map(({ settledAs }) => settledAs),
  holds.map(({ refusal }) => (refusal === null ? null : JSON.stringify(refusal))),
];
