import type { Sql } from '@agent-service/store';
import { unbegunMs } from '../domain/times.ts';
import type { TenantKey } from '../keys.ts';
import { type RedispatchedRow, selectRedispatched } from './leases.ts';
import { afterLines, at, items, lockedLines, sameKey, sameTenant, stateAfter, statesFor, tenantColumns, toParameter } from './sql.ts';

export interface DispatchedRow extends RedispatchedRow {
  /** How many more of the tenant's answers could be dispatched: some were accepted while the statement waited for the line. */
  missed: number;
}

// The condition that is always true makes the planner expect few rows, and so use the key.
const dispatch = `
  with ${items(tenantColumns)}, ${lockedLines()},
  next as materialized (
    select a.organization_id, a.environment, a.id, line.in_flight + a.rank as priority
    from lines line cross join lateral (
      select waiting.*, row_number() over (order by waiting.id) as rank
      from (
        select w.organization_id, w.environment, w.id from answers w
        where ${sameTenant('w', 'line')} and w.state in ${statesFor('dispatch')}
        order by w.id limit greatest(0, $3::integer - line.in_flight)) waiting) a
    where ${afterLines}),
  locked as materialized (
    select a.organization_id, a.environment, a.id, n.priority
    from (select * from next order by organization_id, environment, id) n
    cross join lateral (
      select w.organization_id, w.environment, w.id from answers w
      where ${sameKey('w', 'n')} and w.state in ${statesFor('dispatch')} for update) a),
  dispatched as (
    update answers a set state = ${stateAfter('dispatch')}, dispatches = a.dispatches + 1, dispatched_at = ${at('$2')}, priority = l.priority,
      due = least(${at(`$2 + ${unbegunMs}`)}, a.deadline)
    from locked l where ${sameKey('a', 'l')} and (l.organization_id, l.environment) is not distinct from (l.organization_id, l.environment)
    returning a.*),
  counts as (select organization_id, environment, count(*)::integer as dispatched from dispatched group by 1, 2),
  line_update as (
    update answer_lines line set waiting = line.waiting - counts.dispatched, in_flight = line.in_flight + counts.dispatched
    from counts where ${sameTenant('line', 'counts')})
  select ${selectRedispatched('d')}, least(line.waiting, $3::integer - line.in_flight) - counts.dispatched as missed
  from dispatched d join lines line on ${sameTenant('line', 'd')} join counts on ${sameTenant('counts', 'd')}`;

/** Dispatches the oldest waiting answers of these tenants, up to the limit of answers in flight. */
export const dispatchNext = (sql: Sql, tenants: readonly TenantKey[], inFlight: number, now: number): Promise<DispatchedRow[]> =>
  sql<DispatchedRow>(dispatch, [toParameter(tenantColumns, tenants), now, inFlight]);

const heldUpTenants = `
  select organization_id as "organizationId", environment from answer_lines where waiting > 0 and in_flight < $1
  order by organization_id, environment limit $2`;

/** Tenants with waiting answers that could be in flight. */
export const findHeldUpTenants = (sql: Sql, inFlight: number, limit: number): Promise<TenantKey[]> =>
  sql<TenantKey>(heldUpTenants, [inFlight, limit]);

export const dispatchStatements = { dispatch, heldUpTenants };
