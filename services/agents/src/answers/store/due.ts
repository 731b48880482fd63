import type { Sql } from '@agent-service/store';
import { maxLostLeases, maxUnbegunMs, pendingMs, unbegunMs } from '../domain/times.ts';
import type { AnswerKey } from '../keys.ts';
import { type RedispatchedRow, redispatched, selectRedispatched } from './leases.ts';
import {
  at,
  type ItemColumns,
  inLockOrder,
  inState,
  itemsByKey,
  keyColumns,
  milliseconds,
  sameKey,
  sameTenant,
  selectKey,
  statesFor,
  toParameter,
} from './sql.ts';

/** Due answers in a state, oldest first. A replica skips the rows that another one has locked. */
const dueIn = (state: 'waiting' | 'dispatched' | 'running', columns = '', where = '') => `
  due as materialized (
    select organization_id, environment, id${columns} from answers where ${inState(state)} and due <= ${at('$2')}${where}
    order by due limit $1 for update skip locked)`;

const overdueIn = (state: 'waiting' | 'running') => `
  with ${dueIn(state, '', ` and deadline <= ${at('$2')}`)}
  update answers a set due = ${at(`$2 + ${pendingMs}`)} from due d where ${sameKey('a', 'd')}
  returning ${selectKey('a')}`;

const overdue = { waiting: overdueIn('waiting'), running: overdueIn('running') };

/** Takes answers past their deadline, to end them. They are due again after a while, in case the process dies before it ends them. */
export const takeOverdue = (sql: Sql, state: 'waiting' | 'running', limit: number, now: number): Promise<AnswerKey[]> =>
  sql<AnswerKey>(overdue[state], [limit, now]);

const expired = `
  with ${dueIn('running', '', ` and deadline > ${at('$2')}`)}
  update answers a set ${redispatched('return')}, lost_leases = a.lost_leases + 1 from due d where ${sameKey('a', 'd')}
  returning ${selectRedispatched('a')}`;

/** Takes answers from workers whose leases have expired. */
export const takeExpired = (sql: Sql, limit: number, now: number): Promise<RedispatchedRow[]> =>
  sql<RedispatchedRow>(expired, [limit, now]);

/** A dispatched answer that no worker has begun. */
export interface UnbegunRow extends RedispatchedRow {
  dispatchedAt: number;
  overdue: boolean;
  /** Its priority has changed. */
  raised: boolean;
}

/** An answer is compared with at most this many older ones of its tenant. */
const maxCompared = 500;

// Every check of a row writes it, so rows that wait longer are checked less often. The same write changes the priority, when the number of
// older answers of the tenant under way is at most half of what it was.
const unbegun = `
  with ${dueIn('dispatched', ', priority, deadline, dispatched_at')},
  ranked as materialized (
    select d.*, d.deadline <= ${at('$2')} as overdue, 1 + (
      select count(*)::integer from (
        select 1 from answers o where ${sameTenant('o', 'd')} and o.id < d.id and o.state in ('dispatched', 'running')
        limit least(d.priority / 2, ${maxCompared})) older) as rank
    from due d)
  update answers a set
    due = case when r.overdue then ${at(`$2 + ${pendingMs}`)} else least(a.deadline, ${at('$2')}
      + least(interval '${maxUnbegunMs} milliseconds', greatest(interval '${unbegunMs} milliseconds', ${at('$2')} - r.dispatched_at))) end,
    priority = case when r.rank * 2 <= r.priority then r.rank else a.priority end
  from ranked r where ${sameKey('a', 'r')}
  returning ${selectRedispatched('a')}, ${milliseconds('a.dispatched_at')} as "dispatchedAt", r.overdue, a.priority < r.priority as raised`;

/** Takes dispatched answers that no worker has begun for a while, and raises the priority of old ones. */
export const takeUnbegun = (sql: Sql, limit: number, now: number): Promise<UnbegunRow[]> => sql<UnbegunRow>(unbegun, [limit, now]);

/** The job of an answer: each dispatch makes a new one. */
export type JobKey = AnswerKey & { readonly dispatches: number };

const jobColumns: ItemColumns<JobKey> = { ...keyColumns, dispatches: ['integer', ({ dispatches }) => dispatches] };

const redispatch = `
  with ${itemsByKey(jobColumns)},
  unbegun as materialized (
    select a.organization_id, a.environment, a.id from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ${statesFor('redispatch')} and a.dispatches = i.dispatches and a.lost_leases < ${maxLostLeases} and a.deadline > ${at('$2')}
    ${inLockOrder('a')} for update of a skip locked)
  update answers a set ${redispatched('redispatch')} from unbegun u where ${sameKey('a', 'u')}
  returning ${selectRedispatched('a')}`;

/** Gives dispatched answers another job, unless a worker has begun them or they were dispatched again in the meantime. */
export function redispatchUnbegun(sql: Sql, rows: readonly JobKey[], now: number): Promise<RedispatchedRow[]> {
  return rows.length === 0 ? Promise.resolve([]) : sql<RedispatchedRow>(redispatch, [toParameter(jobColumns, rows), now]);
}

const staleJobs = `
  with ${itemsByKey(jobColumns)}
  select i.organization_id as "organizationId", i.environment, i.id, i.dispatches
  from items i left join answers a on ${sameKey('a', 'i')}
  where a.id is null or a.state <> 'dispatched' or a.dispatches <> i.dispatches`;

/** Those of the jobs whose answers have ended or have been begun or dispatched again. */
export const findStaleJobs = (sql: Sql, jobs: readonly JobKey[]): Promise<JobKey[]> =>
  sql<JobKey>(staleJobs, [toParameter(jobColumns, jobs)]);

export const dueStatements = { overdueWaiting: overdue.waiting, overdueRunning: overdue.running, expired, unbegun, redispatch, staleJobs };
