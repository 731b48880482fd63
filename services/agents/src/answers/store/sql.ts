import type { Tenant } from '@agent-service/contracts';
import { type WorkerFields, workerEntries } from '@agent-service/contracts/agents/fields';
import { columnTypes, type RowColumns } from '@agent-service/store';
import { type AnswerKey, type AttemptKey, type Event, type State, select, transitions, unbegunMs } from '../../shared/answer.ts';

/** Milliseconds since 1970 (a parameter, or a column of items) as a timestamp of our columns. */
export const at = (milliseconds: string): string =>
  `to_timestamp((${milliseconds.replace(/\$\d+/g, '$&::float8')})::float8 / 1000)::timestamptz(3)`;

/** A timestamp as milliseconds since 1970. */
export const milliseconds = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

const listed = (states: readonly State[]): string => `(${states.map((state) => `'${state}'`).join(', ')})`;

/** The states in which an event may happen, for `in`. */
export const statesFor = (event: Event): string => listed(transitions[event].from);

/** The state that an event leads to. */
export const stateAfter = (event: Exclude<Event, 'settle' | 'release'>): string => `'${transitions[event].to}'`;

/** A condition that uses the index of due times. */
export const inState = (state: State): string => `state collate "C" = '${state}'`;

export const tenantColumns: RowColumns<Tenant> = {
  organization_id: ['text', ({ organizationId }) => organizationId],
  environment: ['text', ({ environment }) => environment],
};
export const keyColumns: RowColumns<AnswerKey> = { ...tenantColumns, id: ['text', ({ id }) => id] };
export const attemptColumns: RowColumns<AttemptKey> = { ...keyColumns, attempt: ['integer', ({ attempt }) => attempt] };

/** A statement of several tenants does not wait long for the locked row of one; that of a single tenant may wait longer. */
const sharedLockLimitMs = 200;
const ownLockLimitMs = 1_500;

const limited = (selection: string): string => `
  given as materialized (${selection}),
  items as materialized (
    select * from given
    where (
      select set_config('lock_timeout', case when min(organization_id || ' ' || environment) = max(organization_id || ' ' || environment)
        then '${ownLockLimitMs}' else '${sharedLockLimitMs}' end, true) from given) is not null)`;

/** The items of a batch as a relation named `items`, read from the first parameter, which is JSON. Reading it limits the statement's waits for locks. */
export const items = <Item>(columns: RowColumns<Item>): string =>
  limited(`select * from json_to_recordset($1::json) as item(${columnTypes(columns)})`);

/**
 * Items that are only looked up by key. The condition is always true, but the planner expects few rows from it and so uses the
 * index of the key, although it plans while the tables are small and keeps the plan when they have grown.
 */
export const itemsByKey = <Item>(columns: RowColumns<Item> | string): string =>
  limited(`
    select * from json_to_recordset($1::json) as item(${typeof columns === 'string' ? columns : columnTypes(columns)})
    where (organization_id, environment) is not distinct from (organization_id, environment)`);

export const selectKey = (alias: string): string =>
  select({ organizationId: `${alias}.organization_id`, environment: `${alias}.environment`, id: `${alias}.id` });

export const sameTenant = (a: string, b: string): string =>
  `${a}.organization_id = ${b}.organization_id and ${a}.environment = ${b}.environment`;
export const sameKey = (a: string, b: string): string => `${sameTenant(a, b)} and ${a}.id = ${b}.id`;

/** All statements lock answers in this order, so that they do not deadlock. */
export const inLockOrder = (alias: string): string => `order by ${alias}.organization_id, ${alias}.environment, ${alias}.id`;

/** The lines of the items' tenants, locked in the order that all statements keep. Yields the newest counters. */
export const lockedLines = (condition = ''): string => `
  lines as materialized (
    select line.* from (
      select distinct organization_id, environment from items ${condition} order by organization_id, environment) i
    cross join lateral (
      select l.organization_id, l.environment, l.waiting, l.in_flight from answer_lines l where ${sameTenant('l', 'i')} for update) line)`;

/** Makes a part of a statement wait until all lines are locked. */
export const afterLines = '(select count(*) from lines) >= 0';

/** An answer that is to be read, with the time in its id. */
export type AnswerReading = AnswerKey & { readonly createdAt: number };

export const readingColumns: RowColumns<AnswerReading> = { ...keyColumns, created_at: ['float8', ({ createdAt }) => createdAt] };

/** The assistant's message of item `i`, read by its whole key. */
export const assistantMessage = `
  select * from messages message where ${sameKey('message', 'i')} and message.created_at = ${at('i.created_at')}
    and message.role = 'assistant' limit 1`;

/** The part of an attempt's input that its agent and its tenant's data source decide. */
export interface AgentInput extends WorkerFields {
  /** 0 when no data source is connected. */
  sourceVersion: number;
}

/** The columns of row `alias` of agents that an attempt needs. */
export const agentColumns = (alias: string): Record<keyof WorkerFields, string> =>
  Object.fromEntries(workerEntries.map(({ key, name }) => [key, `${alias}.${name}`])) as Record<keyof WorkerFields, string>;

/** The version of the data source of the tenant of row `alias`. */
export const sourceVersion = (alias: string): string =>
  `coalesce((select source.version from data_sources source where ${sameTenant('source', alias)} and source.url_sealed is not null), 0)`;

/** Columns of a row that has no agent. */
export type NullColumns<Columns> = { readonly [Name in keyof Columns]: null };

/** An attempt with everything that the worker needs. */
export interface AttemptInput extends AnswerKey, AgentInput {
  claim: string;
  attempt: number;
  deadline: number;
  agentId: string;
  conversationId: string;
  continues: boolean;
  userId: string;
  tier: string;
  message: string;
  contextJson: string;
  replyChannels: string[];
  stream: boolean;
  requestId: string;
  traceparent: string;
  /** An earlier attempt has claimed a change of business data. */
  changedBefore: boolean;
}

/** The columns of an attempt's input, of row `answer` of answers and row `agent` of agents. */
export const inputColumns = (answer: string, agent: string): Record<keyof AttemptInput, string> => ({
  organizationId: `${answer}.organization_id`,
  environment: `${answer}.environment`,
  id: `${answer}.id`,
  claim: `${answer}.claim`,
  attempt: `${answer}.attempt`,
  deadline: milliseconds(`${answer}.deadline`),
  agentId: `${answer}.agent_id`,
  conversationId: `${answer}.conversation_id`,
  continues: `${answer}.continues`,
  userId: `${answer}.user_id`,
  tier: `${answer}.tier`,
  message: `${answer}.message`,
  contextJson: `${answer}.context_json`,
  replyChannels: `${answer}.reply_channels`,
  stream: `${answer}.stream`,
  requestId: `${answer}.request_id`,
  traceparent: `${answer}.traceparent`,
  ...agentColumns(agent),
  changedBefore: `${answer}.attempt > 1 and exists (
      select 1 from answer_steps step where ${sameTenant('step', answer)} and step.answer_id = ${answer}.id and step.attempt < ${answer}.attempt)`,
  sourceVersion: sourceVersion(answer),
});

/** An answer that has got another job. */
export interface RedispatchedRow extends AnswerKey {
  dispatches: number;
  priority: number;
  traceparent: string;
  /** It has lost a lease, so it does not run in the worker's own process. */
  apart: boolean;
  /** It has lost exactly one lease, so it may share its process with others like it. */
  shared: boolean;
  lostLeases: number;
}

export const redispatchedColumns = (alias: string): Record<keyof RedispatchedRow, string> => ({
  organizationId: `${alias}.organization_id`,
  environment: `${alias}.environment`,
  id: `${alias}.id`,
  dispatches: `${alias}.dispatches`,
  priority: `${alias}.priority`,
  traceparent: `${alias}.traceparent`,
  apart: `${alias}.lost_leases > 0`,
  shared: `${alias}.lost_leases = 1`,
  lostLeases: `${alias}.lost_leases`,
});

export const selectRedispatched = (alias: string): string => select(redispatchedColumns(alias));

/** The changes that give answer `a` another job, at time $2. */
export const redispatched = (event: 'endLease' | 'redispatch'): string => `
  state = ${stateAfter(event)}, claim = '', dispatches = a.dispatches + 1, dispatched_at = ${at('$2')},
  due = least(${at(`$2 + ${unbegunMs}`)}, a.deadline)`;
