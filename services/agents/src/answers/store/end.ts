import type { AnswerMessage, AnswerRecord } from '@agent-service/contracts';
import { eventTopic, insertInto, type RowColumns, type Sql, toJson } from '@agent-service/store';
import { type AnswerKey, type AttemptKey, select, takeOverMs, unusedHoldMs } from '../../shared/answer.ts';
import {
  type AnswerReading,
  afterLines,
  assistantMessage,
  at,
  attemptColumns,
  inLockOrder,
  inState,
  items,
  itemsByKey,
  keyColumns,
  lockedLines,
  milliseconds,
  readingColumns,
  sameKey,
  sameTenant,
  selectKey,
  stateAfter,
  statesFor,
  statesInFlight,
} from './sql.ts';

/** The result of an attempt. */
export interface Result extends AttemptKey {
  readonly content: string;
  readonly contentType: 'markdown' | 'text';
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly queries: AnswerMessage['queries'];
  readonly record: AnswerRecord | null;
  /** The answer is settled without a charge. */
  readonly refused: boolean;
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
  refused: boolean;
  queries: AnswerMessage['queries'];
  attempt: number;
  dispatches: number;
  acceptedAt: number;
  replyChannels: string[];
  requestId: string;
  /** When this process stored the result, by the monotonic clock; a row that a sweep took has none. */
  storedAt?: number;
}

const resultColumns: RowColumns<Result> = {
  ...attemptColumns,
  content: ['text', ({ content }) => content],
  content_type: ['text', ({ contentType }) => contentType],
  input_tokens: ['integer', ({ inputTokens }) => inputTokens],
  output_tokens: ['integer', ({ outputTokens }) => outputTokens],
  queries: ['jsonb', ({ queries }) => (queries.length === 0 ? null : queries)],
  record: ['jsonb', ({ record }) => record],
  refused: ['boolean', ({ refused }) => refused],
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
  set state = ${stateAfter('complete')}, due = ${at('$2')}, content = n.content, content_type = n.content_type,
    input_tokens = n.input_tokens, output_tokens = n.output_tokens, queries = n.queries, record = n.record, refused = n.refused
  from newest n where ${sameKey('a', 'n')}
  returning ${select(storedColumns)}`;

export type StoredResult = Omit<
  Settlement,
  'content' | 'contentType' | 'inputTokens' | 'outputTokens' | 'refused' | 'queries' | 'storedAt'
>;

/** Stores results of the newest attempts, and returns those that this call stored. Sweeps settle them from `due` on. */
export const storeResults = (sql: Sql, results: readonly Result[], due: number): Promise<StoredResult[]> =>
  sql<StoredResult>(complete, [toJson(resultColumns, results), due]);

const dueSettlements = `
  update answers a set due = ${at(`$1 + ${takeOverMs}`)}
  where a.ctid = any(array(
    select ctid from answers where ${inState('settling')} and due <= ${at('$1')}
    order by due limit $2 for update skip locked))
  returning ${select({
    ...storedColumns,
    content: 'a.content',
    contentType: 'a.content_type',
    inputTokens: 'a.input_tokens',
    outputTokens: 'a.output_tokens',
    refused: 'a.refused',
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
  sql<AnswerStatus>(statuses, [toJson(readingColumns, keys)]);

export const completeStatements = { complete, dueSettlements, statuses };

/** The end of an answer that is not charged. */
export interface UnchargedEnd extends AnswerKey {
  readonly createdAt: number;
  readonly status: 'failed' | 'cancelled';
  readonly content: string;
  readonly failure: { readonly code: string; readonly message: string };
  /** Only this attempt may end the answer so; null for an end that no worker reports. */
  readonly attempt: number | null;
  /** Ends a stored result that cannot be settled; other ends leave stored results alone. */
  readonly isUnsettled?: boolean;
  /** The steps before a failure. */
  readonly queries?: AnswerMessage['queries'];
  readonly record?: AnswerRecord | null;
}

export interface UnchargedRow extends AnswerKey {
  waiting: number;
  inFlight: number;
  previousState: string;
  agentId: string;
  conversationId: string;
  userId: string;
  tier: string;
  attempt: number;
  dispatches: number;
  apart: boolean;
  workerChannel: string;
  acceptedAt: number;
  replyChannels: string[];
  requestId: string;
}

const unchargedColumns: RowColumns<UnchargedEnd> = {
  ...keyColumns,
  created_at: ['float8', ({ createdAt }) => createdAt],
  status: ['text', ({ status }) => status],
  content: ['text', ({ content }) => content],
  failure_code: ['text', ({ failure }) => failure.code],
  failure_message: ['text', ({ failure }) => failure.message],
  attempt: ['integer', ({ attempt }) => attempt],
  unsettled: ['boolean', ({ isUnsettled }) => isUnsettled ?? false],
  done_queries: ['jsonb', ({ queries = [] }) => (queries.length === 0 ? null : queries)],
  done_record: ['jsonb', ({ record }) => record ?? null],
};

/** The columns of an agent's message that every end of an answer fills alike. */
const replyColumns = {
  organization_id: 'organization_id',
  environment: 'environment',
  id: 'id',
  created_at: at('created_at'),
  conversation_id: 'conversation_id',
  agent_id: 'agent_id',
  user_id: 'user_id',
  role: `'assistant'`,
  tier: 'tier',
  attempt: 'attempt',
};

const unchargedEnds = `
  with ${itemsByKey(unchargedColumns)}, ${lockedLines()},
  ending as materialized (
    select i.*, a.state as previous_state from items i join answers a on ${sameKey('a', 'i')}
    where ${afterLines} and (i.attempt is null or (a.state = 'running' and a.attempt = i.attempt))
      and case when i.unsettled then a.state in ${statesFor('endUnsettled')} else a.state in ${statesFor('end')} end
    ${inLockOrder('a')} for update of a),
  ended as (
    update answers a set state = ${stateAfter('end')}, due = ${at(`$2 + ${takeOverMs}`)}, content = '', claim = ''
    from ending e where ${sameKey('a', 'e')}
    returning a.*, e.previous_state, e.created_at, e.status, e.content as sentence, e.failure_code, e.failure_message,
      e.done_queries, e.done_record),
  message as (
    ${insertInto('messages', {
      ...replyColumns,
      content: 'sentence',
      status: 'status',
      failure_code: 'failure_code',
      failure_message: 'failure_message',
      queries: 'done_queries',
      record: 'done_record',
    })}
    from ended),
  freed_key as (
    delete from answer_keys key using ended e
    where e.status = 'failed' and e.idempotency_scope <> '' and ${sameTenant('key', 'e')} and key.scope = e.idempotency_scope and key.answer_id = e.id
      and not exists (select 1 from answer_steps step where ${sameTenant('step', 'e')} and step.answer_id = e.id)),
  counts as (
    select organization_id, environment, (count(*) filter (where previous_state = 'waiting'))::integer as waiting,
      (count(*) filter (where previous_state in ${statesInFlight}))::integer as in_flight
    from ended group by 1, 2),
  line_update as (
    update answer_lines line set waiting = line.waiting - counts.waiting, in_flight = line.in_flight - counts.in_flight
    from counts where ${sameTenant('line', 'counts')})
  select ${select({
    organizationId: 'e.organization_id',
    environment: 'e.environment',
    id: 'e.id',
    waiting: 'line.waiting - counts.waiting',
    inFlight: 'line.in_flight - counts.in_flight',
    previousState: 'e.previous_state',
    agentId: 'e.agent_id',
    conversationId: 'e.conversation_id',
    userId: 'e.user_id',
    tier: 'e.tier',
    attempt: 'e.attempt',
    dispatches: 'e.dispatches',
    apart: 'e.lost_leases > 0',
    workerChannel: 'e.worker_channel',
    acceptedAt: milliseconds('e.accepted_at'),
    replyChannels: 'e.reply_channels',
    requestId: 'e.request_id',
  })}
  from ended e join lines line on ${sameTenant('line', 'e')} join counts on ${sameTenant('counts', 'e')}`;

/**
 * Ends answers without a charge and leaves their holds to be released. Returns those that this call ended. A failed answer frees its
 * Idempotency-Key, unless it has begun a change of business data: a repeat would make that again.
 */
export const endUncharged = (sql: Sql, ends: readonly UnchargedEnd[], now: number): Promise<UnchargedRow[]> =>
  sql<UnchargedRow>(unchargedEnds, [toJson(unchargedColumns, ends), now]);

const lockedAnswers = `
  with ${itemsByKey(keyColumns)}, ${lockedLines()}
  select ${selectKey('a')}, a.attempt from items i join answers a on ${sameKey('a', 'i')} where ${afterLines} ${inLockOrder('a')} for update of a`;

/** The changes of business data that an answer has claimed and that were not undone. */
type ClaimedChanges = AnswerKey & { readonly isUnfinished: boolean };

const claimedChanges = `
  with ${itemsByKey(keyColumns)}
  select i.organization_id as "organizationId", i.environment, i.id, change.unfinished as "isUnfinished"
  from items i cross join lateral (
    select bool_or(step.finished_at is null) as unfinished from answer_steps step
    where ${sameTenant('step', 'i')} and step.answer_id = i.id) change
  where change.unfinished is not null`;

/** The changes of those answers that have claimed any. Locks the answers, so that none is claimed until the transaction ends. */
export async function lockChanges(sql: Sql, keys: readonly AnswerKey[]): Promise<ClaimedChanges[]> {
  const started = (await sql<AttemptKey>(lockedAnswers, [toJson(keyColumns, keys)])).filter(({ attempt }) => attempt > 0);
  return started.length === 0 ? [] : await sql<ClaimedChanges>(claimedChanges, [toJson(keyColumns, started)]);
}

/** The end of an answer that is settled. */
export interface ChargedEnd extends AnswerKey {
  readonly createdAt: number;
  readonly credits: number;
  /** The event for webhooks; null where none is recorded. */
  readonly event: { readonly id: string } | null;
}

/** An answer that has just ended, with the counters of its tenant after that. */
export interface ChargedRow extends AnswerKey {
  waiting: number;
  inFlight: number;
}

const chargedColumns: RowColumns<ChargedEnd> = {
  ...keyColumns,
  created_at: ['float8', ({ createdAt }) => createdAt],
  credits: ['integer', ({ credits }) => credits],
  event: ['jsonb', ({ event }) => event],
};

const chargedEnds = `
  with ${itemsByKey(chargedColumns)}, ${lockedLines()},
  settled as materialized (
    select i.* from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ${statesFor('settle')} and ${afterLines}
    ${inLockOrder('a')} for update of a),
  ended as (
    delete from answers a using settled s where ${sameKey('a', 's')}
    returning a.organization_id, a.environment, a.id, a.conversation_id, a.agent_id, a.user_id, a.tier, a.attempt, a.content,
      a.content_type, a.queries, a.record, s.created_at, s.credits, s.event),
  message as (
    ${insertInto('messages', {
      ...replyColumns,
      content: 'content',
      content_type: 'content_type',
      status: `'completed'`,
      credits: 'credits',
      queries: 'queries',
      record: 'record',
    })}
    from ended),
  conversation as (
    update conversations c set total_credits = c.total_credits + e.credits
    from ended e where e.credits > 0 and ${sameTenant('c', 'e')} and c.id = e.conversation_id),
  counts as (select organization_id, environment, count(*)::integer as ended from ended group by 1, 2),
  line_update as (
    update answer_lines line set in_flight = line.in_flight - counts.ended from counts where ${sameTenant('line', 'counts')}),
  event as (insert into outbox (id, topic, payload) select event ->> 'id', '${eventTopic}', event from ended where event is not null)
  select e.organization_id as "organizationId", e.environment, e.id, line.waiting, line.in_flight - counts.ended as "inFlight"
  from ended e join lines line on ${sameTenant('line', 'e')} join counts on ${sameTenant('counts', 'e')}`;

/**
 * Ends settled answers, and returns those that this call ended. A conversation has at most one pending answer, so no conversation is
 * charged twice in a batch.
 */
export const endCharged = (sql: Sql, ends: readonly ChargedEnd[]): Promise<ChargedRow[]> =>
  sql<ChargedRow>(chargedEnds, [toJson(chargedColumns, ends)]);

const unusedHolds = `
  with ${items(keyColumns)}
  insert into answers as a (organization_id, environment, id, state, due, accepted_at, deadline)
  select organization_id, environment, id, 'releasing', ${at(`$2 + ${unusedHoldMs}`)}, ${at('$2')}, ${at('$2')} from items
  order by organization_id, environment, id
  on conflict do nothing
  returning ${selectKey('a')}`;

/**
 * Marks the holds of messages that were not accepted for release, and returns those that it marked. The row of an accepted answer is
 * not marked, and a marked id cannot be accepted: the first of the two decides. The mark outlives the release for a while, since an
 * acceptance that got the hold before may still be under way.
 */
export const markUnusedHolds = (sql: Sql, keys: readonly AnswerKey[], now: number): Promise<AnswerKey[]> =>
  sql<AnswerKey>(unusedHolds, [toJson(keyColumns, keys), now]);

const dueReleases = `
  update answers a set due = ${at(`$1 + ${takeOverMs}`)}
  where a.ctid = any(array(
    select ctid from answers where ${inState('releasing')} and due <= ${at('$1')}
    order by due limit $2 for update skip locked))
  returning ${selectKey('a')}`;

/** Takes over releases that their process has not finished in time. */
export const takeDueReleases = (sql: Sql, limit: number, now: number): Promise<AnswerKey[]> => sql<AnswerKey>(dueReleases, [now, limit]);

const releasedHolds = `
  with ${itemsByKey(keyColumns)},
  released as materialized (
    select a.organization_id, a.environment, a.id from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ${statesFor('release')} and (a.agent_id <> '' or a.accepted_at <= ${at(`$2 - ${unusedHoldMs}`)})
    ${inLockOrder('a')} for update of a)
  delete from answers a using released r where ${sameKey('a', 'r')}`;

/** Removes the rows of released holds. */
export async function removeReleased(sql: Sql, keys: readonly AnswerKey[], now: number): Promise<void> {
  await sql(releasedHolds, [toJson(keyColumns, keys), now]);
}

export const endStatements = { unchargedEnds, lockedAnswers, claimedChanges, chargedEnds, unusedHolds, dueReleases, releasedHolds };
