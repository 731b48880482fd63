import {
  type AnswerMessage,
  type AnswerRecord,
  type Call,
  callers,
  checkEnvironment,
  checkId,
  checkItems,
  type RpcOf,
  requirePrincipal,
  ServiceError,
  services,
  type Tenant,
} from '@agent-service/contracts';
import { workerFieldsToMessage } from '@agent-service/contracts/agents/definition';
import { toStorable } from '@agent-service/contracts/text';
import type { Logger } from '@agent-service/runtime';
import { once, type Sql } from '@agent-service/store';
import { type AnswerKey, checkAttempt, checkKey, clockToleranceMs, keyMessage, nameOf, timeOf, withTime } from '../shared/answer.ts';
import type { ServiceDeps } from '../shared/deps.ts';
import type { StartOutcome } from './accept.ts';
import type { Refusal } from './admission.ts';
import type { BeginOutcome, Leases } from './attempts.ts';
import type { Assignment, Offer } from './dispatch.ts';
import { type Cancellation, type CancelOptions, toMessage } from './end.ts';
import type { EndRefusal, FailedAttempt } from './settle.ts';
import type { Message } from './store/accept.ts';
import type { Claim } from './store/attempts.ts';
import type { Result } from './store/end.ts';
import type { ReadRow, RecordRow } from './store/read.ts';
import type { AnswerReading } from './store/sql.ts';

/** The life of answers, from acceptance until they are settled or released. */
export interface Answers {
  accept(message: Message): Promise<StartOutcome>;
  begin(claim: Claim): Promise<BeginOutcome>;
  readonly leases: Leases;
  /** Waits for answers that begin for this worker. */
  wait(offer: Offer, signal: AbortSignal): Promise<readonly Assignment[]>;
  complete(result: Result): Promise<EndRefusal>;
  fail(attempts: readonly FailedAttempt[]): Promise<EndRefusal[]>;
  /** Cancels an answer of this user with this agent that has no result yet, within the transaction. */
  cancel(transaction: { readonly sql: Sql }, key: AnswerKey, options: CancelOptions): Promise<Cancellation | undefined>;
  read(keys: readonly AnswerReading[]): Promise<ReadRow[]>;
  readRecords(keys: readonly AnswerReading[]): Promise<RecordRow[]>;
  /**
   * Fails the pending answers of an agent within the transaction that deletes it, after the agent's row is locked. The function that
   * it returns has to be called after the commit.
   */
  failAnswersOfAgent(transaction: { readonly sql: Sql }, tenant: Tenant, agentId: string): Promise<() => void>;
}

interface MethodsDeps extends Pick<ServiceDeps, 'store' | 'now' | 'logger'> {
  readonly answers: Answers;
}

/** The methods of the contract that are about answers. */
export const answerMethods = (deps: MethodsDeps) => ({
  beginAnswer: beginAnswer(deps),
  cancelAnswer: cancelAnswer(deps),
  completeAnswer: completeAnswer(deps),
  failAnswer: failAnswer(deps),
  readAnswers: readAnswers(deps),
  readRecords: readRecords(deps),
  renewLeases: renewLeases(deps),
  returnAnswers: returnAnswers(deps),
  startAnswer: startAnswer(deps),
  waitForAnswers: waitForAnswers(deps),
});

const maxTextLength = 128 * 1024;

export const startAnswer = ({ answers, now, logger }: MethodsDeps): RpcOf<'agents', 'startAnswer'> => ({
  allow: services('gateway'),
  async handle({ items }, call) {
    checkItems(items);
    const outcomes = await runEach(items, (item) => answers.accept(toReceivedMessage(item, now(), call)), logger);
    return { results: outcomes.map((outcome) => ('code' in outcome ? { refusal: refusalMessage(outcome) } : toStartResult(outcome))) };
  },
});

type MessageItem = Parameters<RpcOf<'agents', 'startAnswer'>['handle']>[0]['items'][number];

const toStartResult = (outcome: StartOutcome) =>
  'refusal' in outcome
    ? { refusal: refusalMessage(outcome.refusal) }
    : {
        started: {
          answerId: outcome.started.answerId,
          conversationId: outcome.started.conversationId,
          createdAt: new Date(outcome.started.createdAt).toISOString(),
          deadlineMs: outcome.started.deadline,
          model: outcome.started.tier,
          attached: outcome.started.attached,
        },
      };

/** When the caller gets a timeout: each message has its own time left beside that of the call. */
const expiryOf = ({ timeLeftMs }: Pick<MessageItem, 'timeLeftMs'>, call: Call) =>
  Math.min(call.expiresAt, timeLeftMs > 0 ? performance.now() + timeLeftMs : Number.POSITIVE_INFINITY);

function toReceivedMessage({ principal, ...item }: MessageItem, now: number, call: Call): Message {
  // The gateway has checked this before.
  if (!principal?.scopes.includes('agents:chat')) throw new ServiceError('insufficient_scope');
  const { signal } = call;
  return {
    organizationId: checkId(principal.organizationId, 'organization_id'),
    environment: checkEnvironment(principal.environment),
    userId: checkId(principal.userId, 'user_id'),
    id: item.answerId,
    acceptedAt: checkTime(item.answerId, now),
    // A path has an id of any length, and one that names no agent is not found.
    agentId: checkText(item.agentId, 'agent_id'),
    conversationId: item.conversationId === '' ? '' : checkId(item.conversationId, 'conversation_id'),
    text: checkText(item.message, 'message'),
    contextJson: checkText(item.contextJson, 'context', 0),
    replyChannel: checkText(item.replyChannel, 'reply_channel', 0),
    stream: item.stream,
    idempotencyScope: checkText(item.idempotencyScope, 'idempotency_scope', 0),
    idempotencyFingerprint: checkText(item.idempotencyFingerprint, 'idempotency_fingerprint', 0),
    requestId: checkText(item.requestId, 'request_id', 0),
    traceparent: checkText(item.traceparent, 'traceparent', 0),
    callerExpiresAt: expiryOf(item, call),
    isCallerDisconnected: () => signal.aborted,
  };
}

/** The id has the time of the request, and the answer's deadline counts from then. */
function checkTime(answerId: string, now: number): number {
  const time = timeOf(answerId);
  if (time === undefined)
    throw new ServiceError('invalid_request', { message: 'answer_id must be the id of a message.', param: 'answer_id' });
  // The clock of the gateway that made it, or ours, is wrong. The caller cannot do anything about it.
  if (Math.abs(time - now) > clockToleranceMs)
    throw new ServiceError('unavailable', {
      cause: new Error(`the time in answer_id is ${Math.round(time - now)} ms ahead of this process`),
    });
  return time;
}

/** A text that PostgreSQL cannot store would fail the whole batch. */
function checkText(text: string, param: string, minLength = 1): string {
  if (text.length >= minLength && text.length <= maxTextLength && !text.includes('\0') && text.isWellFormed()) return text;
  throw new ServiceError('invalid_request', { message: `${param} is empty, too long or not plain text.`, param });
}

const readAnswers = ({ answers }: MethodsDeps): RpcOf<'agents', 'readAnswers'> => ({
  allow: services('gateway'),
  async handle({ items }) {
    checkItems(items);
    const rows = await answers.read(items.map(checkKey).map(withTime));
    const rowOf = new Map(rows.map((row) => [row.n, row]));
    return {
      results: items.map((_, n) => {
        const row = rowOf.get(n);
        return row ? { message: rowMessage(row), attempt: row.attempt } : {};
      }),
    };
  },
});

/** A record is smaller than 70 kB, so these fit into one message. */
const maxRecords = 50;

const readRecords = ({ answers }: MethodsDeps): RpcOf<'agents', 'readRecords'> => ({
  allow: services('gateway'),
  async handle({ items }) {
    if (items.length > maxRecords) throw new ServiceError('invalid_request', { message: `At most ${maxRecords} items.`, param: 'items' });
    const rows = await answers.readRecords(items.map(checkKey).map(withTime));
    const recordOf = new Map(rows.map(({ n, record }) => [n, record]));
    return { results: items.map((_, n) => ({ record: recordOf.get(n) ?? null })) };
  },
});

const cancelAnswer = ({ answers, store }: MethodsDeps): RpcOf<'agents', 'cancelAnswer'> => ({
  allow: callers({ scope: 'agents:chat', agentTokens: true }),
  async handle({ agentId, messageId, preventAcceptance }, call) {
    const { organizationId, environment, userId, agentId: boundAgentId } = requirePrincipal(call);
    if (boundAgentId && boundAgentId !== agentId) throw new ServiceError('wrong_audience');
    const key = { organizationId, environment, id: messageId };
    const onCommit: (() => void)[] = [];
    const response = await once(store, call, async (transaction) => {
      const cancellation = await answers.cancel(transaction, key, { agentId, userId, preventAcceptance });
      if (cancellation) onCommit.push(cancellation.onCommit);
      else if (!preventAcceptance) throw new ServiceError('not_found');
      return { message: cancellation?.row ? rowMessage(cancellation.row) : null };
    });
    for (const follow of onCommit) follow();
    return response;
  },
});

const beginAnswer = ({ answers, logger }: MethodsDeps): RpcOf<'agents', 'beginAnswer'> => ({
  allow: services('answer-worker'),
  async handle({ items, workerChannel }) {
    checkItems(items);
    const begin = async ({ answer, claim, apart, shared }: BeginItem) =>
      answers.begin({
        ...checkKey(answer),
        claim: checkId(claim, 'claim'),
        isolation: apart ? 'alone' : shared ? 'shared' : undefined,
        workerChannel: checkId(workerChannel, 'worker_channel'),
      });
    const outcomes = await runEach(items, begin, logger);
    return { results: outcomes.map((outcome) => ('code' in outcome ? { refusal: refusalMessage(outcome) } : toBeginResult(outcome))) };
  },
});

type BeginItem = Parameters<RpcOf<'agents', 'beginAnswer'>['handle']>[0]['items'][number];

function toBeginResult(outcome: BeginOutcome) {
  return 'refusal' in outcome ? { refusal: refusalMessage(outcome.refusal) } : { begun: begunMessage(outcome) };
}

const begunMessage = ({ input, history }: Assignment) => ({
  ...workerFieldsToMessage(input),
  attempt: input.attempt,
  deadlineMs: input.deadline,
  agentId: input.agentId,
  conversationId: input.conversationId,
  userId: input.userId,
  model: input.tier,
  message: input.message,
  contextJson: input.contextJson,
  history: [...history],
  replyChannels: input.replyChannels,
  stream: input.stream,
  requestId: input.requestId,
  traceparent: input.traceparent,
  changedBefore: input.changedBefore,
  sourceVersion: input.sourceVersion,
});

const waitForAnswers = ({ answers }: MethodsDeps): RpcOf<'agents', 'waitForAnswers'> => ({
  allow: services('answer-worker'),
  logLevel: 'debug',
  async handle({ workerChannel, capacity, receivedAnswerIds: receivedIds, stopping }, { signal }) {
    const channel = checkId(workerChannel, 'worker_channel');
    const assignments = await answers.wait({ workerChannel: channel, capacity, receivedIds, stopping }, signal);
    return { answers: assignments.map((assignment) => ({ answer: keyMessage(assignment.input), begun: begunMessage(assignment) })) };
  },
});

const renewLeases = ({ answers }: MethodsDeps): RpcOf<'agents', 'renewLeases'> => ({
  allow: services('answer-worker'),
  async handle({ answers: items }) {
    checkItems(items);
    const attempts = items.map(checkAttempt);
    const renewed = new Map((await answers.leases.renew(attempts)).map((attempt) => [nameOf(attempt), attempt.attempt]));
    const lost = attempts.filter((attempt) => renewed.get(nameOf(attempt)) !== attempt.attempt);
    return { lost: lost.map((key) => ({ answer: keyMessage(key), attempt: key.attempt })) };
  },
});

const returnAnswers = ({ answers }: MethodsDeps): RpcOf<'agents', 'returnAnswers'> => ({
  allow: services('answer-worker'),
  async handle({ answers: items, processDied }) {
    checkItems(items);
    const attempts = items.map(checkAttempt);
    await (processDied ? answers.leases.lose(attempts) : answers.leases.return(attempts));
    return {};
  },
});

const completeAnswer = ({ answers, logger }: MethodsDeps): RpcOf<'agents', 'completeAnswer'> => ({
  allow: services('answer-worker'),
  async handle({ items }) {
    checkItems(items);
    const outcomes = await runEach(items, async (item) => answers.complete(toCompletedResult(item)), logger);
    return { results: outcomes.map((refusal) => (refusal ? { refusal: refusalMessage(refusal) } : {})) };
  },
});

type CompleteItem = Parameters<RpcOf<'agents', 'completeAnswer'>['handle']>[0]['items'][number];

function toCompletedResult({ answer, content, contentType, inputTokens, outputTokens, queries, record, refused }: CompleteItem): Result {
  return {
    ...checkAttempt(answer),
    content: toStorable(content),
    contentType: contentType === 'text' ? 'text' : 'markdown',
    inputTokens: Math.max(0, inputTokens),
    outputTokens: Math.max(0, outputTokens),
    queries: toStorableQueries(queries),
    record: record && toStorableRecord(record),
    refused,
  };
}

const toStorableQueries = (queries: CompleteItem['queries']) =>
  queries.map(({ statement, tables, rows, durationMs }) => ({
    statement: toStorable(statement),
    tables: tables.map((table) => toStorable(table)),
    rows,
    durationMs,
  }));

const toStorableRecord = ({ usage, resultJson, steps }: AnswerRecord): AnswerRecord => ({
  usage: usage && { ...usage, model: toStorable(usage.model) },
  resultJson: toStorable(resultJson),
  steps: steps.map((step) => ({ ...step, name: toStorable(step.name), detail: toStorable(step.detail), error: toStorable(step.error) })),
});

const failAnswer = ({ answers }: MethodsDeps): RpcOf<'agents', 'failAnswer'> => ({
  allow: services('answer-worker'),
  async handle({ items }) {
    checkItems(items);
    const attempts = items.map(({ answer, failure, queries, record }) => ({
      ...checkAttempt(answer),
      failure,
      done: { queries: toStorableQueries(queries), record: record && toStorableRecord(record) },
    }));
    const refusals = await answers.fail(attempts);
    return { results: refusals.map((refusal) => (refusal ? { refusal: refusalMessage(refusal) } : {})) };
  },
});

/** Codes of failures whose reason the caller is not told. */
const unexplained: readonly string[] = ['internal', 'unavailable'];

/** Runs all items at the same time and returns their outcomes in their order. An item that fails does not fail the others. */
async function runEach<Item, Outcome>(
  items: readonly Item[],
  run: (item: Item) => Promise<Outcome>,
  logger: Logger,
): Promise<(Outcome | Pick<Refusal, 'code'>)[]> {
  const failures: ServiceError[] = [];
  const outcomes = await Promise.all(
    items.map(async (item) => {
      try {
        return await run(item);
      } catch (cause) {
        const failure = ServiceError.from(cause);
        if (unexplained.includes(failure.code)) failures.push(failure);
        return { code: failure.code };
      }
    }),
  );
  // If a store is away, all items fail for one reason: one line is enough.
  if (failures[0]) logger.warn({ event: 'items_failed', items: failures.length, code: failures[0].code, err: failures[0] });
  return outcomes;
}

const refusalMessage = ({ code, required = 0, available = 0, ...ofUser }: Refusal) => ({ code, required, available, ...ofUser });

/** An answer that was read, as the message that callers get. */
const rowMessage = ({ failureCode, failureMessage, queries, ...row }: ReadRow): AnswerMessage =>
  toMessage({
    id: row.id,
    conversationId: row.conversationId,
    agentId: row.agentId,
    content: row.content,
    contentType: row.contentType,
    credits: row.credits,
    tier: row.tier,
    createdAt: row.createdAt,
    status: row.status,
    failure: failureCode === '' ? null : { code: failureCode, message: failureMessage },
    queries: queries ?? [],
  });
