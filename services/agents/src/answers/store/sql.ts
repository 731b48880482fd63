import type { Tenant } from '@agent-service/contracts';
import { type WorkerFields, workerEntries } from '@agent-service/contracts/agents/fields';
import { firstBytes } from '@agent-service/contracts/strings';
import { columnTypes, type RowColumns, type Sql, toJson } from '@agent-service/store';
import { textsIn } from '@agent-service/store/entities';
import { z } from 'zod';
import {
  type AnswerKey,
  type AttemptKey,
  clockToleranceMs,
  type Event,
  inFlightStates,
  nameOf,
  type State,
  select,
  timeOf,
  transitions,
  unbegunMs,
  userMessageIdOf,
} from '../../shared/answer.ts';

/** Milliseconds since 1970 (a parameter, or a column of items) as a timestamp of our columns. */
export const at = (milliseconds: string): string =>
  `to_timestamp((${milliseconds.replace(/\$\d+/g, '$&::float8')})::float8 / 1000)::timestamptz(3)`;

/** A timestamp as milliseconds since 1970. */
export const milliseconds = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

const listed = (states: readonly State[]): string => `(${states.map((state) => `'${state}'`).join(', ')})`;

/** The states in which an event may happen, for `in`. */
export const statesFor = (event: Event): string => listed(transitions[event].from);

/** The states that count as in flight, for `in`. */
export const statesInFlight = listed(inFlightStates);

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
export const itemsByKey = <Item>(columns: RowColumns<Item>): string =>
  limited(`
    select * from json_to_recordset($1::json) as item(${columnTypes(columns)})
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
  Object.fromEntries(
    workerEntries.map(({ key, name, input }) => {
      const column = `${alias}.${name}`;
      return [key, input instanceof z.ZodArray ? textsIn(column) : column];
    }),
  ) as Record<keyof WorkerFields, string>;

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

const maxTurns = 200;
const maxHistoryBytes = 512 * 1024;

export interface Turn {
  role: string;
  content: string;
}

/** An answer, and the conversation that it continues or begins. */
interface Continuation extends AnswerKey {
  readonly conversationId: string;
  readonly continues: boolean;
}

const historyColumns: RowColumns<Continuation & { n: number }> = {
  n: ['integer', ({ n }) => n],
  ...keyColumns,
  conversation_id: ['text', ({ conversationId }) => conversationId],
  user_message_id: ['text', ({ id }) => userMessageIdOf(id)],
  since: ['float8', ({ conversationId }) => startOfConversation(conversationId)],
};

/** The id of a conversation has the time of its first answer; the clocks that made its messages may be a little behind it. */
const startOfConversation = (id: string) => (timeOf(id.replace(/^conv_/, 'msg_')) ?? 0) - 2 * clockToleranceMs;

// The ids of an answer and of its user's message differ only in their time, so the rest of the id names the pair. A pair is as old
// as its answer, and is left out where the answer failed or was cancelled. The newest one is included, and then cut, however long it is.
const history = `
  with ${items(historyColumns)}
  select i.n, said.role, left(said.content, ${maxHistoryBytes}) as content, said.bytes > ${maxHistoryBytes} as "tooLong"
  from items i cross join lateral (
    select *, sum(octet_length(answered.content)) over (order by answered.answered_at desc, answered.pair) as bytes,
      dense_rank() over (order by answered.answered_at desc, answered.pair) as rank
    from (
      select recent.*, max(recent.created_at) over same as answered_at,
        bool_or(recent.role = 'assistant') over same and bool_and(recent.status = 'completed') over same as completed
      from (
        select m.role, m.content, m.status, m.created_at, m.id, right(m.id, 16) as pair from messages m
        where m.organization_id = i.organization_id and m.environment = i.environment and m.conversation_id = i.conversation_id
          and m.id <> i.user_message_id and m.created_at >= ${at('i.since')}
        order by m.created_at desc, m.id desc limit ${maxTurns}) recent
      window same as (partition by recent.pair)) answered
    where answered.completed) said
  where said.bytes <= ${maxHistoryBytes} or said.rank = 1
  order by i.n, said.answered_at, said.pair desc, said.created_at, said.id`;

/**
 * The histories of the conversations that the answers continue, by the names of the answers: the newest pairs that fit into the limit,
 * oldest first, and always at least the last one.
 */
export async function loadHistories(sql: Sql, answers: readonly Continuation[]): Promise<Map<string, Turn[]>> {
  const continuing = answers.filter(({ continues }) => continues).map((answer, n) => ({ ...answer, n }));
  if (continuing.length === 0) return new Map();
  const rows = await sql<Turn & { n: number; tooLong: boolean }>(history, [toJson(historyColumns, continuing)]);
  const turns: Turn[][] = continuing.map(() => []);
  for (const { n, role, content } of rows) turns[n]?.push({ role, content });
  for (const n of new Set(rows.filter((row) => row.tooLong).map((row) => row.n))) turns[n] = cutPair(turns[n] ?? [], maxHistoryBytes);
  return new Map(continuing.map((answer) => [nameOf(answer), turns[answer.n] ?? []]));
}

const ellipsis = '…';
const bytesOf = (text: string): number => Buffer.byteLength(text);

/** The text, or as many of its characters as fit before an ellipsis. */
export function cut(text: string, maxBytes: number): string {
  if (bytesOf(text) <= maxBytes) return text;
  return `${firstBytes(text, Math.max(0, maxBytes - bytesOf(ellipsis)))}${ellipsis}`;
}

/** A message and its answer within the limit: the longer one gets the part of the other's half that is not needed. */
export function cutPair<Turn extends { readonly content: string }>(turns: readonly Turn[], maxBytes: number): Turn[] {
  const half = Math.floor(maxBytes / Math.max(1, turns.length));
  const used = turns.reduce((sum, { content }) => sum + Math.min(half, bytesOf(content)), 0);
  const longer = turns.filter(({ content }) => bytesOf(content) > half).length;
  const spare = Math.floor((maxBytes - used) / Math.max(1, longer));
  return turns.map((turn) => ({ ...turn, content: cut(turn.content, half + (bytesOf(turn.content) > half ? spare : 0)) }));
}

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

export const historyStatements = { history };
