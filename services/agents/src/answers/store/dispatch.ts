import type { Sql } from '@agent-service/store';
import { unbegunMs } from '../domain/times.ts';
import type { TenantKey } from '../key.ts';
import { type Redispatched, redispatchedColumns } from './renew.ts';
import { afterLines, allowing, at, items, lockedLines, sameKey, sameTenant } from './text.ts';

export interface DispatchedRow extends Redispatched {
  /** How many of the tenant's could have gone, had they been seen: others came while this one waited for the line. */
  missed: number;
}

// The condition that always holds has the planner expect few rows, and so look each up by its key.
const statement = `
  with ${items('organization_id text, environment text')}, ${lockedLines},
  next as materialized (
    select a.organization_id, a.environment, a.id, line.in_flight + a.place as priority
    from lines line cross join lateral (
      select waiting.*, row_number() over (order by waiting.id) as place
      from (
        select w.organization_id, w.environment, w.id from answers w
        where ${sameTenant('w', 'line')} and w.state in ${allowing('dispatch')}
        order by w.id limit greatest(0, $3::integer - line.in_flight)) waiting) a
    where ${afterLines}),
  locked as materialized (
    select a.organization_id, a.environment, a.id, n.priority
    from (select * from next order by organization_id, environment, id) n
    cross join lateral (
      select w.organization_id, w.environment, w.id from answers w
      where ${sameKey('w', 'n')} and w.state in ${allowing('dispatch')} for update) a),
  gone as (
    update answers a set state = 'dispatched', dispatches = a.dispatches + 1, dispatched_at = ${at('$2')}, priority = l.priority,
      due = least(${at(`$2 + ${unbegunMs}`)}, a.deadline)
    from locked l where ${sameKey('a', 'l')} and (l.organization_id, l.environment) is not distinct from (l.organization_id, l.environment)
    returning a.*),
  counts as (select organization_id, environment, count(*)::integer as went from gone group by 1, 2),
  moved as (
    update answer_lines line set waiting = line.waiting - counts.went, in_flight = line.in_flight + counts.went
    from counts where ${sameTenant('line', 'counts')})
  select ${redispatchedColumns('g')}, least(line.waiting, $3::integer - line.in_flight) - counts.went as missed
  from gone g join lines line on ${sameTenant('line', 'g')} join counts on ${sameTenant('counts', 'g')}`;

/** Sends on the oldest waiting answers of these tenants, as many as may be in flight. */
export const dispatchNext = (sql: Sql, tenants: readonly TenantKey[], inFlight: number, now: number): Promise<DispatchedRow[]> =>
  sql<DispatchedRow>(statement, [
    JSON.stringify(tenants.map(({ organizationId, environment }) => ({ organization_id: organizationId, environment }))),
    now,
    inFlight,
  ]);

/** Tenants of whom more could be in flight. */
export const tenantsHeldUp = (sql: Sql, inFlight: number, limit: number): Promise<TenantKey[]> =>
  sql<TenantKey>(
    `select organization_id as "organizationId", environment from answer_lines where waiting > 0 and in_flight < $1
     order by organization_id, environment limit $2`,
    [inFlight, limit],
  );
