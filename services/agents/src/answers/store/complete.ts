import type { Sql } from '@agent-service/store';
import { pendingMs } from '../domain/times.ts';
import type { AnswerKey, AttemptKey } from '../keys.ts';
import { type AnswerReading, assistantMessage, type QueryRecord, readingColumns } from './read.ts';
import {
  at,
  attemptColumns,
  type ItemColumns,
  inLockOrder,
  inState,
  itemsByKey,
  milliseconds,
  sameKey,
  select,
  stateAfter,
  statesFor,
  toParameter,
} from './sql.ts';

/** The result of an attempt. */
export interface Result extends AttemptKey {
  readonly content: string;
  readonly contentType: 'markdown' | 'text';
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly queries: readonly QueryRecord[];
}

/** A stored result that is to be settled. */
export interface Settlement extends AnswerKey {
  agentId: string;
  agentName: string;
  conversationId: string;
  userId: string;
  tier: string;
  /** As much of the user's message as a usage record keeps. */
  summary: string;
  content: string;
  contentType: string;
  inputTokens: number;
  outputTokens: number;
  queries: QueryRecord[];
  attempt: number;
  dispatches: number;
  acceptedAt: number;
  replyChannels: string[];
  requestId: string;
}

const resultColumns: ItemColumns<Result> = {
  ...attemptColumns,
  content: ['text', ({ content }) => content],
  content_type: ['text', ({ contentType }) => contentType],
  input_tokens: ['integer', ({ inputTokens }) => inputTokens],
  output_tokens: ['integer', ({ outputTokens }) => outputTokens],
  queries: ['jsonb', ({ queries }) => (queries.length === 0 ? null : queries)],
};

/** Columns of a settlement that the process which stored the result does not already have. */
const storedColumns = {
  organizationId: 'a.organization_id',
  environment: 'a.environment',
  id: 'a.id',
  agentId: 'a.agent_id',
  agentName: 'a.agent_name',
  conversationId: 'a.conversation_id',
  userId: 'a.user_id',
  tier: 'a.tier',
  summary: 'left(a.message, 120)',
  attempt: 'a.attempt',
  dispatches: 'a.dispatches',
  acceptedAt: milliseconds('a.accepted_at'),
  replyChannels: 'a.reply_channels',
  requestId: 'a.request_id',
};

const complete = `
  with ${itemsByKey(resultColumns)},
  newest as materialized (
    select i.* from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ${statesFor('complete')} and a.attempt = i.attempt
    ${inLockOrder('a')} for update of a)
  update answers a
  set state = ${stateAfter('complete')}, due = ${at(`$2 + ${pendingMs}`)}, content = n.content, content_type = n.content_type,
    input_tokens = n.input_tokens, output_tokens = n.output_tokens, queries = n.queries
  from newest n where ${sameKey('a', 'n')}
  returning ${select(storedColumns)}`;

export type StoredResult = Omit<Settlement, 'content' | 'contentType' | 'inputTokens' | 'outputTokens' | 'queries'>;

/** Stores results of the newest attempts, and returns those that this call stored. */
export const storeResults = (sql: Sql, results: readonly Result[], now: number): Promise<StoredResult[]> =>
  sql<StoredResult>(complete, [toParameter(resultColumns, results), now]);

const dueSettlements = `
  update answers a set due = ${at(`$1 + ${pendingMs}`)}
  where a.ctid = any(array(
    select ctid from answers where ${inState('settling')} and due <= ${at('$1')}
    order by due limit $2 for update skip locked))
  returning ${select({
    ...storedColumns,
    content: 'a.content',
    contentType: 'a.content_type',
    inputTokens: 'a.input_tokens',
    outputTokens: 'a.output_tokens',
    queries: `coalesce(a.queries, '[]')`,
  })}`;

/** Takes over settlements that their process has not finished in time. */
export const takeDueSettlements = (sql: Sql, limit: number, now: number): Promise<Settlement[]> =>
  sql<Settlement>(dueSettlements, [now, limit]);

/** The state of an answer that an attempt could not end. */
export interface AnswerStatus extends AnswerKey {
  /** Null where the answer has ended. */
  state: string | null;
  attempt: number;
  /** How it ended; null where it has not, or never existed. */
  status: string | null;
}

const statuses = `
  with ${itemsByKey(readingColumns)}
  select ${select({
    organizationId: 'i.organization_id',
    environment: 'i.environment',
    id: 'i.id',
    state: 'a.state',
    attempt: 'coalesce(a.attempt, m.attempt, 0)',
    status: 'm.status',
  })}
  from items i
  left join answers a on ${sameKey('a', 'i')} and a.state <> 'releasing'
  left join lateral (${assistantMessage}) m on true`;

export const loadStatuses = (sql: Sql, keys: readonly AnswerReading[]): Promise<AnswerStatus[]> =>
  sql<AnswerStatus>(statuses, [toParameter(readingColumns, keys)]);

export const completeStatements = { complete, dueSettlements, statuses };
