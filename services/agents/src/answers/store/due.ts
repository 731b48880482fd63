import type { Sql } from '@agent-service/store';
import { dutyMs, longestUnbegunMs, mostLostLeases, unbegunMs } from '../domain/times.ts';
import { type AnswerKey, keyItem } from '../key.ts';
import { handedBack, type LostLease, lostLeaseColumns, type Redispatched, redispatchedColumns } from './renew.ts';
import { at, inState, keyColumns, milliseconds, sameKey, sameTenant, sought } from './text.ts';

/** Answers of a state whose time has come, oldest first. What one replica has locked the others skip. */
const dueIn = (state: 'waiting' | 'dispatched' | 'running', columns = '', where = '') => `
  due as materialized (
    select organization_id, environment, id${columns} from answers where ${inState(state)} and due <= ${at('$2')}${where}
    order by due limit $1 for update skip locked)`;

const overdue = (state: 'waiting' | 'running') => `
  with ${dueIn(state, '', ` and deadline <= ${at('$2')}`)}
  update answers a set due = ${at(`$2 + ${dutyMs}`)} from due d where ${sameKey('a', 'd')}
  returning a.organization_id as "organizationId", a.environment, a.id`;

const overdueStatements = { waiting: overdue('waiting'), running: overdue('running') };

/** Takes answers past their deadline, to be ended. They come again after a while where their process dies before it has done so. */
export const takeOverdue = (sql: Sql, state: 'waiting' | 'running', limit: number, now: number): Promise<AnswerKey[]> =>
  sql<AnswerKey>(overdueStatements[state], [limit, now]);

const expired = `
  with ${dueIn('running', '', ` and deadline > ${at('$2')}`)}
  update answers a set ${handedBack}, lost_leases = a.lost_leases + 1 from due d where ${sameKey('a', 'd')}
  returning ${lostLeaseColumns('a')}`;

/** Takes answers from workers whose leases have run out. */
export const takeExpired = (sql: Sql, limit: number, now: number): Promise<LostLease[]> => sql<LostLease>(expired, [limit, now]);

/** A dispatched answer that no worker has begun. */
export interface Unbegun extends LostLease {
  dispatchedAt: number;
  overdue: boolean;
  /** Its priority has changed. */
  raised: boolean;
}

/** An answer is compared with so many older ones of its tenant at most. */
const mostCompared = 500;

// Whoever looks at a row writes it, so a row is looked at less often the longer it waits, and its priority changes in the same write:
// when the number of the tenant's older answers under way is at most half of what it was.
const unbegun = `
  with ${dueIn('dispatched', ', priority, deadline, dispatched_at')},
  ranked as materialized (
    select d.*, d.deadline <= ${at('$2')} as overdue, 1 + (
      select count(*)::integer from (
        select 1 from answers o where ${sameTenant('o', 'd')} and o.id < d.id and o.state in ('dispatched', 'running')
        limit least(d.priority / 2, ${mostCompared})) older) as rank
    from due d)
  update answers a set
    due = case when r.overdue then ${at(`$2 + ${dutyMs}`)} else least(a.deadline, ${at('$2')}
      + least(interval '${longestUnbegunMs} milliseconds', greatest(interval '${unbegunMs} milliseconds', ${at('$2')} - r.dispatched_at))) end,
    priority = case when r.rank * 2 <= r.priority then r.rank else a.priority end
  from ranked r where ${sameKey('a', 'r')}
  returning ${lostLeaseColumns('a')}, ${milliseconds('a.dispatched_at')} as "dispatchedAt", r.overdue, a.priority < r.priority as raised`;

/** Takes dispatched answers that no worker has begun for a while, and gives those that have waited long the priority of their age. */
export const takeUnbegun = (sql: Sql, limit: number, now: number): Promise<Unbegun[]> => sql<Unbegun>(unbegun, [limit, now]);

const redispatch = `
  with ${sought(`${keyColumns}, dispatches integer`)},
  unmoved as materialized (
    select a.organization_id, a.environment, a.id from items i join answers a on ${sameKey('a', 'i')}
    where a.state = 'dispatched' and a.dispatches = i.dispatches and a.lost_leases < ${mostLostLeases} and a.deadline > ${at('$2')}
    order by a.organization_id, a.environment, a.id for update of a skip locked)
  update answers a set ${handedBack} from unmoved u where ${sameKey('a', 'u')}
  returning ${redispatchedColumns('a')}`;

/** Gives dispatched answers another job, unless they have been begun or dispatched again in the meantime. */
export function redispatchUnbegun(sql: Sql, rows: readonly (AnswerKey & { dispatches: number })[], now: number): Promise<Redispatched[]> {
  if (rows.length === 0) return Promise.resolve([]);
  return sql<Redispatched>(redispatch, [JSON.stringify(rows.map((row) => ({ ...keyItem(row), dispatches: row.dispatches }))), now]);
}

const current = `
  with ${sought(`${keyColumns}, dispatches integer`)}
  select i.organization_id as "organizationId", i.environment, i.id, i.dispatches
  from items i left join answers a on ${sameKey('a', 'i')}
  where a.id is null or a.state <> 'dispatched' or a.dispatches <> i.dispatches`;

/** Those of these jobs that no answer waits for. */
export const findStaleJobs = <Job extends AnswerKey & { dispatches: number }>(sql: Sql, jobs: readonly Job[]) =>
  sql<AnswerKey & { dispatches: number }>(current, [JSON.stringify(jobs.map((job) => ({ ...keyItem(job), dispatches: job.dispatches })))]);
