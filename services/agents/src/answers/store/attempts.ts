import { type WorkerFields, workerEntries } from '@agent-service/contracts/agents/fields';
import type { Sql } from '@agent-service/store';
import { type AnswerKey, type AttemptKey, leaseMs, maxLostLeases, select } from '../../shared/answer.ts';
import { type RedispatchedRow, redispatched, selectRedispatched } from './dispatch.ts';
import {
  at,
  attemptColumns,
  type ItemColumns,
  inLockOrder,
  items,
  itemsByKey,
  keyColumns,
  milliseconds,
  sameKey,
  sameTenant,
  selectKey,
  stateAfter,
  statesFor,
  toParameter,
} from './sql.ts';

/** A worker's request for an answer. */
export interface Claim extends AnswerKey {
  /** A worker that asks again with the same claim gets the attempt that it has. */
  readonly claim: string;
  /** Its process runs no other answer. */
  readonly apart: boolean;
  /** Its process runs only answers that have lost one lease. */
  readonly shared?: boolean;
  readonly workerChannel: string;
}

/** The part of an attempt's input that its agent and its tenant's data source decide. */
export interface AgentInput extends WorkerFields {
  /** 0 when no data source is connected. */
  sourceVersion: number;
}

/** The columns of row `alias` of agents that an attempt needs. */
export const agentColumns = (alias: string): Record<string, string> =>
  Object.fromEntries(workerEntries.map(({ key, name }) => [key, `${alias}.${name}`]));

/** The version of the data source of the tenant of row `alias`. */
export const sourceVersion = (alias: string): string =>
  `coalesce((select d.version from data_sources d where ${sameTenant('d', alias)} and d.url_sealed is not null), 0)`;

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

/** Columns of a row that has no agent. */
export type NullColumns<Columns> = { readonly [Name in keyof Columns]: null };

/** An attempt that has begun. The fields of its agent are null where that has been deleted. */
export type BegunRow = Omit<AttemptInput, keyof WorkerFields> & (WorkerFields | NullColumns<WorkerFields>);

const claimColumns: ItemColumns<Claim> = {
  ...keyColumns,
  claim: ['text', ({ claim }) => claim],
  apart: ['boolean', ({ apart }) => apart],
  shared: ['boolean', ({ shared }) => shared ?? false],
  worker_channel: ['text', ({ workerChannel }) => workerChannel],
};

const inputColumns = select({
  organizationId: 'b.organization_id',
  environment: 'b.environment',
  id: 'b.id',
  claim: 'b.claim',
  attempt: 'b.attempt',
  deadline: milliseconds('b.deadline'),
  agentId: 'b.agent_id',
  conversationId: 'b.conversation_id',
  continues: 'b.continues',
  userId: 'b.user_id',
  tier: 'b.tier',
  message: 'b.message',
  contextJson: 'b.context_json',
  replyChannels: 'b.reply_channels',
  stream: 'b.stream',
  requestId: 'b.request_id',
  traceparent: 'b.traceparent',
  ...agentColumns('agent'),
  changedBefore: `b.attempt > 1 and exists (
      select 1 from answer_steps s where ${sameTenant('s', 'b')} and s.answer_id = b.id and s.attempt < b.attempt)`,
  sourceVersion: sourceVersion('b'),
});

// An answer that has lost a lease may end its process, so it shares one only with others that have lost one, and runs alone after two.
const begin = `
  with ${itemsByKey(claimColumns)},
  claimed as materialized (
    select i.*, a.state = ${stateAfter('begin')} and a.claim = i.claim as again from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ${statesFor('begin')} and a.deadline > ${at('$2')}
      and (a.claim = i.claim or (a.state = 'dispatched' and (
        a.lost_leases = 0 or (i.shared and a.lost_leases = 1) or (i.apart and a.lost_leases < ${maxLostLeases}))))
    ${inLockOrder('a')} for update of a),
  begun as (
    update answers a
    set state = ${stateAfter('begin')}, claim = c.claim, attempt = a.attempt + (not c.again)::integer, worker_channel = c.worker_channel,
      due = least(${at(`$2 + ${leaseMs}`)}, a.deadline)
    from claimed c where ${sameKey('a', 'c')}
    returning a.*)
  select ${inputColumns} from begun b left join agents agent on ${sameTenant('agent', 'b')} and agent.id = b.agent_id`;

/** Begins attempts, and returns those that are the claims' own. */
export const beginAnswers = (sql: Sql, claims: readonly Claim[], now: number): Promise<BegunRow[]> =>
  sql<BegunRow>(begin, [toParameter(claimColumns, claims), now]);

const unended = `
  with ${itemsByKey(keyColumns)}
  select ${selectKey('a')} from items i join answers a on ${sameKey('a', 'i')} where a.state <> 'releasing'`;

/** Those of the answers that have not ended. */
export const findUnended = (sql: Sql, keys: readonly AnswerKey[]): Promise<AnswerKey[]> =>
  sql<AnswerKey>(unended, [toParameter(keyColumns, keys)]);

const maxTurns = 200;
const maxBytes = 512 * 1024;

export interface Turn {
  role: string;
  content: string;
}

/** The part of a conversation that is older than a message. */
export interface HistoryKey extends AnswerKey {
  readonly conversationId: string;
  readonly userMessageId: string;
  /** No message of the conversation is older than this. */
  readonly since: number;
}

const historyColumns: ItemColumns<HistoryKey & { n: number }> = {
  n: ['integer', ({ n }) => n],
  ...keyColumns,
  conversation_id: ['text', ({ conversationId }) => conversationId],
  user_message_id: ['text', ({ userMessageId }) => userMessageId],
  since: ['float8', ({ since }) => since],
};

// The ids of an answer and of its user's message differ only in their time, so the rest of the id names the exchange. An exchange is as old
// as its answer, and is left out where the answer failed or was cancelled. The newest one is included, and then cut, however long it is.
const history = `
  with ${items(historyColumns)}
  select i.n, said.role, left(said.content, ${maxBytes}) as content, said.bytes > ${maxBytes} as "tooLong"
  from items i cross join lateral (
    select *, sum(octet_length(answered.content)) over (order by answered.answered_at desc, answered.exchange) as bytes,
      dense_rank() over (order by answered.answered_at desc, answered.exchange) as rank
    from (
      select recent.*, max(recent.created_at) over same as answered_at,
        bool_or(recent.role = 'assistant') over same and bool_and(recent.status = 'completed') over same as completed
      from (
        select m.role, m.content, m.status, m.created_at, m.id, right(m.id, 16) as exchange from messages m
        where m.organization_id = i.organization_id and m.environment = i.environment and m.conversation_id = i.conversation_id
          and m.id <> i.user_message_id and m.created_at >= ${at('i.since')}
        order by m.created_at desc, m.id desc limit ${maxTurns}) recent
      window same as (partition by recent.exchange)) answered
    where answered.completed) said
  where said.bytes <= ${maxBytes} or said.rank = 1
  order by i.n, said.answered_at, said.exchange desc, said.created_at, said.id`;

/** The newest exchanges of conversations that fit into the limit, oldest first; always at least the last one. */
export async function loadHistories(sql: Sql, keys: readonly HistoryKey[]): Promise<Turn[][]> {
  const histories: Turn[][] = keys.map(() => []);
  if (keys.length === 0) return histories;
  const numbered = keys.map((key, n) => ({ ...key, n }));
  const rows = await sql<Turn & { n: number; tooLong: boolean }>(history, [toParameter(historyColumns, numbered)]);
  for (const { n, role, content } of rows) histories[n]?.push({ role, content });
  const tooLong = new Set(rows.filter((row) => row.tooLong).map(({ n }) => n));
  return histories.map((turns, n) => (tooLong.has(n) ? cutExchange(turns, maxBytes) : turns));
}

export const beginStatements = { begin, unended, history };

/** The rows of these attempts. An attempt has a lease only until the deadline. */
const leased = (event: 'renew' | 'return') => `
  leased as materialized (
    select a.organization_id, a.environment, a.id from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ${statesFor(event)} and a.attempt = i.attempt and a.deadline > ${at('$2')}
    ${inLockOrder('a')} for update of a)`;

const renew = `
  with ${itemsByKey(attemptColumns)}, ${leased('renew')}
  update answers a set due = least(${at(`$2 + ${leaseMs}`)}, a.deadline) from leased l where ${sameKey('a', 'l')}
  returning a.organization_id as "organizationId", a.environment, a.id, a.attempt`;

/** Renews leases, and returns those that it renewed; the others are lost. An expired lease is renewed while the answer has not been redispatched. */
export const renewLeases = (sql: Sql, attempts: readonly AttemptKey[], now: number): Promise<AttemptKey[]> =>
  sql<AttemptKey>(renew, [toParameter(attemptColumns, attempts), now]);

// An attempt that its worker could return did not end its process: lost leases are counted in a row.
const returnAttempts = `
  with ${itemsByKey(attemptColumns)}, ${leased('return')}
  update answers a set ${redispatched('return')}, lost_leases = 0 from leased l where ${sameKey('a', 'l')}
  returning ${selectRedispatched('a')}`;

/** Takes answers back from a worker that stops. */
export const returnAnswers = (sql: Sql, attempts: readonly AttemptKey[], now: number): Promise<RedispatchedRow[]> =>
  sql<RedispatchedRow>(returnAttempts, [toParameter(attemptColumns, attempts), now]);

const loseLeases = `
  with ${itemsByKey(attemptColumns)}, ${leased('return')}
  update answers a set ${redispatched('return')}, lost_leases = a.lost_leases + 1 from leased l where ${sameKey('a', 'l')}
  returning ${selectRedispatched('a')}`;

/** Takes answers from a process that has died. */
export const takeFromDead = (sql: Sql, attempts: readonly AttemptKey[], now: number): Promise<RedispatchedRow[]> =>
  sql<RedispatchedRow>(loseLeases, [toParameter(attemptColumns, attempts), now]);

export const leaseStatements = { renew, returnAttempts, loseLeases };

const ellipsis = '…';
const encoder = new TextEncoder();
const bytesOf = (text: string): number => Buffer.byteLength(text);

/** The text, or as many of its characters as fit before an ellipsis. */
export function cut(text: string, maxBytes: number): string {
  if (bytesOf(text) <= maxBytes) return text;
  const room = Math.max(0, maxBytes - bytesOf(ellipsis));
  // The encoder writes only whole characters.
  const { read } = encoder.encodeInto(text, new Uint8Array(room));
  return `${text.slice(0, read)}${ellipsis}`;
}

/** A message and its answer within the limit: the longer one gets the part of the other's half that is not needed. */
export function cutExchange<Turn extends { readonly content: string }>(turns: readonly Turn[], maxBytes: number): Turn[] {
  const half = Math.floor(maxBytes / Math.max(1, turns.length));
  const used = turns.reduce((sum, { content }) => sum + Math.min(half, bytesOf(content)), 0);
  const longer = turns.filter(({ content }) => bytesOf(content) > half).length;
  const spare = Math.floor((maxBytes - used) / Math.max(1, longer));
  return turns.map((turn) => ({ ...turn, content: cut(turn.content, half + (bytesOf(turn.content) > half ? spare : 0)) }));
}
