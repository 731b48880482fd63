import type { Tenant } from '@agent-service/contracts';
import { type RowColumns, type Sql, toJson } from '@agent-service/store';
import {
  type AnswerKey,
  leaseMs,
  maxLostLeases,
  maxUnbegunMs,
  type State,
  select,
  states,
  takeOverMs,
  unbegunMs,
} from '../../shared/answer.ts';
import {
  type AgentInput,
  type AttemptInput,
  afterLines,
  at,
  inLockOrder,
  inputColumns,
  inState,
  items,
  itemsByKey,
  keyColumns,
  lockedLines,
  milliseconds,
  type NullColumns,
  type RedispatchedRow,
  redispatched,
  redispatchedColumns,
  sameKey,
  sameTenant,
  selectKey,
  selectRedispatched,
  stateAfter,
  statesFor,
  tenantColumns,
} from './sql.ts';

/** A dispatched answer. It has begun if a worker was reserved for it; otherwise it needs a job. */
export type DispatchedRow = RedispatchedRow & {
  /** How many more of the tenant's answers could be dispatched: some were accepted while the statement waited for the line. */
  readonly missed: number;
  readonly workerChannel: string;
} & (({ readonly state: 'running' } & AttemptInput) | ({ readonly state: 'dispatched' } & NullColumns<AgentInput>));

// `next` has the oldest waiting answers that the limit of answers in flight leaves room for, with their priorities, and `locked` locks them.
// `beginning` gives the first of them a worker each; an answer whose agent was deleted gets none, since the attempt to begin its job ends
// it. `dispatched` writes the states of all of them, and `line_update` the counters of their tenants.
// The conditions that are always true make the planner expect few rows, and so use the keys.
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
    select a.organization_id, a.environment, a.id, a.agent_id, n.priority
    from (select * from next order by organization_id, environment, id) n
    cross join lateral (
      select w.organization_id, w.environment, w.id, w.agent_id from answers w
      where ${sameKey('w', 'n')} and w.state in ${statesFor('dispatch')} for update) a),
  beginning as materialized (
    select l.organization_id, l.environment, l.id,
      ($4::text[])[row_number() over (order by l.priority, l.organization_id, l.environment, l.id)] as worker_channel
    from locked l cross join lateral (select 1 from agents g where ${sameTenant('g', 'l')} and g.id = l.agent_id limit 1) living),
  chosen as materialized (
    select l.organization_id, l.environment, l.id, l.priority, b.worker_channel, b.worker_channel is not null as begins
    from locked l left join beginning b on ${sameKey('b', 'l')}),
  dispatched as (
    update answers a set state = case when c.begins then ${stateAfter('begin')} else ${stateAfter('dispatch')} end,
      dispatches = a.dispatches + 1, dispatched_at = ${at('$2')}, priority = c.priority,
      attempt = a.attempt + c.begins::integer, worker_channel = coalesce(c.worker_channel, ''),
      due = least(${at(`$2 + case when c.begins then ${leaseMs} else ${unbegunMs} end`)}, a.deadline)
    from chosen c where ${sameKey('a', 'c')} and (c.organization_id, c.environment) is not distinct from (c.organization_id, c.environment)
    returning a.*),
  counts as (select organization_id, environment, count(*)::integer as dispatched from dispatched group by 1, 2),
  line_update as (
    update answer_lines line set waiting = line.waiting - counts.dispatched, in_flight = line.in_flight + counts.dispatched
    from counts where ${sameTenant('line', 'counts')})
  select ${select({
    ...inputColumns('d', 'agent'),
    ...redispatchedColumns('d'),
    state: 'd.state',
    workerChannel: 'd.worker_channel',
    missed: 'least(line.waiting, $3::integer - line.in_flight) - counts.dispatched',
  })}
  from dispatched d join lines line on ${sameTenant('line', 'd')} join counts on ${sameTenant('counts', 'd')}
  left join lateral (
    select * from agents g where d.state = ${stateAfter('begin')} and ${sameTenant('g', 'd')} and g.id = d.agent_id limit 1) agent on true`;

interface DispatchLimits {
  /** The most answers of a tenant that may be in flight. */
  readonly inFlight: number;
  /** A worker for each answer that may begin at once, those with the best priority first. */
  readonly workerChannels: readonly string[];
}

/** Dispatches the oldest waiting answers of these tenants, up to the limit of answers in flight. */
export const dispatchNext = (
  sql: Sql,
  tenants: readonly Tenant[],
  { inFlight, workerChannels }: DispatchLimits,
  now: number,
): Promise<DispatchedRow[]> => sql<DispatchedRow>(dispatch, [toJson(tenantColumns, tenants), now, inFlight, workerChannels]);

/** A tenant with waiting answers that could be in flight. */
export interface HeldUpTenant extends Tenant {
  /** How many could be. */
  readonly answers: number;
}

const heldUpTenants = `
  select organization_id as "organizationId", environment, least(waiting, $1::integer - in_flight) as answers from answer_lines where waiting > 0 and in_flight < $1
  order by organization_id, environment limit $2`;

export const findHeldUpTenants = (sql: Sql, inFlight: number, limit: number): Promise<HeldUpTenant[]> =>
  sql<HeldUpTenant>(heldUpTenants, [inFlight, limit]);

export const dispatchStatements = { dispatch, heldUpTenants };

/** A state that an answer may be in at its deadline. */
export type OverdueState = 'waiting' | 'dispatched' | 'running';

/** Due answers in a state, oldest first. A replica skips the rows that another replica has locked. */
const dueIn = (state: OverdueState, columns = '', where = '') => `
  due as materialized (
    select organization_id, environment, id${columns} from answers where ${inState(state)} and due <= ${at('$2')}${where}
    order by due limit $1 for update skip locked)`;

const overdueIn = (state: OverdueState) => `
  with ${dueIn(state, '', ` and deadline <= ${at('$2')}`)}
  update answers a set due = ${at(`$2 + ${takeOverMs}`)} from due d where ${sameKey('a', 'd')}
  returning ${selectKey('a')}`;

const overdue = { waiting: overdueIn('waiting'), dispatched: overdueIn('dispatched'), running: overdueIn('running') };

/** Takes answers past their deadline, to end them. They are due again after a while, in case the process dies before it ends them. */
export const takeOverdue = (sql: Sql, state: OverdueState, limit: number, now: number): Promise<AnswerKey[]> =>
  sql<AnswerKey>(overdue[state], [limit, now]);

const expired = `
  with ${dueIn('running', '', ` and deadline > ${at('$2')}`)}
  update answers a set ${redispatched('endLease')}, lost_leases = a.lost_leases + 1 from due d where ${sameKey('a', 'd')}
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
    due = case when r.overdue then ${at(`$2 + ${takeOverMs}`)} else least(a.deadline, ${at('$2')}
      + least(interval '${maxUnbegunMs} milliseconds', greatest(interval '${unbegunMs} milliseconds', ${at('$2')} - r.dispatched_at))) end,
    priority = case when r.rank * 2 <= r.priority then r.rank else a.priority end
  from ranked r where ${sameKey('a', 'r')}
  returning ${selectRedispatched('a')}, ${milliseconds('a.dispatched_at')} as "dispatchedAt", r.overdue, a.priority < r.priority as raised`;

/** Takes dispatched answers that no worker has begun for a while, and raises the priority of old ones. */
export const takeUnbegun = (sql: Sql, limit: number, now: number): Promise<UnbegunRow[]> => sql<UnbegunRow>(unbegun, [limit, now]);

/** The job of an answer: each dispatch makes a new one. */
export type JobKey = AnswerKey & { readonly dispatches: number };

const jobColumns: RowColumns<JobKey> = { ...keyColumns, dispatches: ['integer', ({ dispatches }) => dispatches] };

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
  return rows.length === 0 ? Promise.resolve([]) : sql<RedispatchedRow>(redispatch, [toJson(jobColumns, rows), now]);
}

const staleJobs = `
  with ${itemsByKey(jobColumns)}
  select i.organization_id as "organizationId", i.environment, i.id, i.dispatches
  from items i left join answers a on ${sameKey('a', 'i')}
  where a.id is null or a.state <> 'dispatched' or a.dispatches <> i.dispatches`;

/** Those of the jobs whose answers have ended or have been begun or dispatched again. */
export const findStaleJobs = (sql: Sql, jobs: readonly JobKey[]): Promise<JobKey[]> => sql<JobKey>(staleJobs, [toJson(jobColumns, jobs)]);

/** The states in which answers are due, and if tenants have waiting answers that could be in flight. */
export type DueWork = Readonly<Record<State | 'heldUp', boolean>>;

// Ordered as the indexes are, so that the planner uses them also where most rows match.
const isDue = (state: State): string =>
  `coalesce((select true from answers where ${inState(state)} and due <= ${at('$1')} order by due limit 1), false)`;
const isHeldUp = `coalesce((
  select true from answer_lines where waiting > 0 and in_flight < $2 order by organization_id, environment limit 1), false)`;

const dueWork = `select ${select({
  ...Object.fromEntries(states.map((state) => [state, isDue(state)])),
  heldUp: isHeldUp,
})}`;

/** Finds what is due for all sweeps in one statement; without it, each idle sweep would run a statement or more. */
export async function findDueWork(sql: Sql, inFlight: number, now: number): Promise<DueWork> {
  const [row] = await sql<DueWork>(dueWork, [now, inFlight]);
  return row as DueWork;
}

export const dueStatements = {
  dueWork,
  overdueWaiting: overdue.waiting,
  overdueDispatched: overdue.dispatched,
  overdueRunning: overdue.running,
  expired,
  unbegun,
  redispatch,
  staleJobs,
};
