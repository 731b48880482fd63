import {
  type AnswerMessage,
  callDetached,
  changedBefore,
  type PublicErrorCode,
  publicErrorCodes,
  type Tenant,
} from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import { type Batcher, callByTenant, createBatcher, type RetryQueue } from '@agent-service/work';
import { findMessage } from '../conversations/index.ts';
import { type AnswerKey, batchFields, byKey, firstOfEachKey, nameOf, timeOf, withTime } from '../shared/answer.ts';
import { type AnswersDeps, batchOptions, createRetryQueue, type Outcome, throwIfDatabaseAway } from './deps.ts';
import {
  type ChargedRow,
  endUncharged,
  lockChanges,
  markUnusedHolds,
  removeReleased,
  type UnchargedEnd,
  type UnchargedRow,
} from './store/end.ts';
import { findPendingOfAgent, type ReadRow, readAnswers } from './store/read.ts';

const batchItems = 500;
const maxAnswersOfAgent = 500;

export interface Failure {
  readonly code: string;
  readonly message: string;
}

export const failureOf = (code: PublicErrorCode): Failure => ({ code, message: publicErrorCodes[code].message });

const unchargedNotice = 'No credits were charged.';

/** `failure` is for callers that wait, and `content` for readers of the message. Both say that nothing was charged. */
export function toFailedEnd(key: AnswerKey, { code, message }: Failure, attempt: number | null = null): UnchargedEnd {
  const text = message.includes(unchargedNotice) ? message : `${message} ${unchargedNotice}`;
  return {
    ...withTime(key),
    status: 'failed',
    content: `This message could not be answered. ${text}`,
    failure: { code, message: text },
    attempt,
  };
}

const toCancelledEnd = (key: AnswerKey): UnchargedEnd => ({
  ...withTime(key),
  status: 'cancelled',
  content: `The answer was cancelled. ${unchargedNotice}`,
  failure: { code: '', message: '' },
  attempt: null,
});

/** An end that no worker reports. A worker says itself what it has changed. */
const isUnreported = ({ attempt }: UnchargedEnd) => attempt === null;

/** Adds to ends that no worker reports whether business data was changed, or may have been. They have to be ended in the same transaction. */
async function describeChanges(sql: Sql, ends: readonly UnchargedEnd[]): Promise<readonly UnchargedEnd[]> {
  if (!ends.some(isUnreported)) return ends;
  // All of them are locked, in the order of the statement that ends them.
  const changes = byKey(await lockChanges(sql, ends));
  return ends.map((end) => {
    const known = changes.get(nameOf(end));
    if (!known || !isUnreported(end)) return end;
    const sentence = known.isUnfinished ? publicErrorCodes.change_unfinished.message : changedBefore;
    if (end.status === 'cancelled') return { ...end, content: `${end.content} ${sentence}` };
    const message = `${end.failure.message} ${sentence}`;
    return { ...end, ...toFailedEnd(end, known.isUnfinished ? failureOf('change_unfinished') : { ...end.failure, message }) };
  });
}

export interface CancelOptions {
  readonly agentId: string;
  readonly userId: string;
  /** A message that is not accepted yet will not be accepted. */
  readonly preventAcceptance?: boolean;
}

/** The state of an answer after its cancellation. */
export interface Cancellation {
  /** None where the acceptance was prevented. */
  readonly row: ReadRow | undefined;
  /** Has to be called after the commit: it announces the end and releases the hold. */
  onCommit(): void;
}

/** Dispatches waiting answers of the tenants whose answers have ended. */
export type DispatchAfterEnds = (ended: readonly ChargedRow[]) => void;

/** Ends answers without a charge: fails them, cancels them, or gives up their settlement. Releases their holds and announces the end. */
export class EndAnswers {
  readonly #deps: AnswersDeps;
  readonly #dispatchAfterEnds: DispatchAfterEnds;
  readonly #releases: RetryQueue<AnswerKey>;
  readonly #batcher: Batcher<UnchargedEnd, UnchargedRow | undefined>;

  constructor(deps: AnswersDeps, dispatchAfterEnds: DispatchAfterEnds, releases: RetryQueue<AnswerKey>) {
    this.#deps = deps;
    this.#dispatchAfterEnds = dispatchAfterEnds;
    this.#releases = releases;
    this.#batcher = createBatcher({
      run: (ends) => this.#run(ends),
      maxItems: batchItems,
      onFailure: (ends, cause) => this.#logFailure(ends, cause),
      ...batchOptions<UnchargedEnd>(deps, 'end'),
    });
  }

  /** Returns the answers that this call ended. Throws where the database is away. */
  async end(ends: readonly UnchargedEnd[]): Promise<UnchargedRow[]> {
    const outcomes = await Promise.allSettled(ends.map((end) => this.#batcher.add(end)));
    throwIfDatabaseAway(outcomes);
    return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' && outcome.value ? [outcome.value] : []));
  }

  /** Ends stored results that the ledger refuses to settle. */
  async endUnsettled(keys: readonly AnswerKey[]): Promise<void> {
    await this.end(keys.map((key) => ({ ...toFailedEnd(key, failureOf('internal')), isUnsettled: true })));
  }

  /**
   * Cancels an answer of this user with this agent that has no result yet, in the caller's transaction. An ended one is returned as it is;
   * undefined where its user cannot read it.
   */
  async cancel(sql: Sql, key: AnswerKey, { agentId, userId, preventAcceptance }: CancelOptions): Promise<Cancellation | undefined> {
    const unused = preventAcceptance ? await this.#markUnaccepted(sql, key) : [];
    if (unused.length > 0) return { row: undefined, onCommit: () => this.#releases.add(unused) };
    const before = await readOne(sql, key);
    if (before?.agentId !== agentId || before.userId !== userId) return undefined;
    if (before.status !== 'queued' && before.status !== 'running') {
      // Readers get no message of a deleted agent or conversation.
      const message = await findMessage(sql, { tenant: key, agentId, userId }, key.id);
      return message && { row: before, onCommit: () => undefined };
    }
    const onCommit = await this.#endWithin(sql, [toCancelledEnd(key)]);
    const row = await readOne(sql, key);
    return row && { row, onCommit };
  }

  /** Marks the hold of a message that is not accepted as unused: then the message cannot be accepted. */
  async #markUnaccepted(sql: Sql, key: AnswerKey): Promise<AnswerKey[]> {
    if (timeOf(key.id) === undefined || (await readOne(sql, key))) return [];
    return markUnusedHolds(sql, [key], this.#deps.now());
  }

  /**
   * Fails pending answers of an agent in the transaction that deletes it, up to a limit. The function that it returns has to be called
   * after the commit: it announces the ends, releases the holds and fails the rest.
   */
  async failAnswersOfAgent(sql: Sql, tenant: Tenant, agentId: string): Promise<() => void> {
    const onCommit = await this.#endWithin(sql, await this.#endsOfAgent(sql, tenant, agentId));
    return () => {
      onCommit();
      this.#deps.background.run('ending the answers of a deleted agent', () => this.#failRestOfAgent(tenant, agentId));
    };
  }

  /** An answer that is left after this is ended by the attempt to begin it. */
  async #failRestOfAgent(tenant: Tenant, agentId: string): Promise<void> {
    for (;;) {
      const ends = await this.#endsOfAgent(this.#deps.store.sql, tenant, agentId);
      const rows = await this.end(ends);
      if (ends.length < maxAnswersOfAgent || rows.length === 0) return;
    }
  }

  async #endsOfAgent(sql: Sql, tenant: Tenant, agentId: string): Promise<UnchargedEnd[]> {
    const keys = await findPendingOfAgent(sql, tenant, agentId, maxAnswersOfAgent);
    return keys.map((key) => toFailedEnd(key, failureOf('agent_deleted')));
  }

  async #endWithin(sql: Sql, ends: readonly UnchargedEnd[]): Promise<() => void> {
    const { rows, described } = await this.#describeAndEnd(sql, ends);
    return () => this.#follow(rows, described);
  }

  async #describeAndEnd(sql: Sql, ends: readonly UnchargedEnd[]) {
    const described = await describeChanges(sql, ends);
    return { rows: await endUncharged(sql, described, this.#deps.now()), described: byKey(described) };
  }

  async #run(ends: UnchargedEnd[]): Promise<(UnchargedRow | undefined)[]> {
    // A statement changes a row once: of two ends of one answer only the first runs.
    const first = byKey(firstOfEachKey(ends));
    const unique = [...first.values()];
    const { store } = this.#deps;
    const { rows, described } = unique.some(isUnreported)
      ? await store.transaction(({ sql }) => this.#describeAndEnd(sql, unique))
      : await this.#describeAndEnd(store.sql, unique);
    this.#follow(rows, described);
    const rowOf = byKey(rows);
    return ends.map((end) => (first.get(nameOf(end)) === end ? rowOf.get(nameOf(end)) : undefined));
  }

  #follow(rows: readonly UnchargedRow[], ends: ReadonlyMap<string, UnchargedEnd>): void {
    announceEnds(
      this.#deps,
      rows.flatMap((row) => {
        const end = ends.get(nameOf(row));
        return end ? [toEndedAnswer(row, end)] : [];
      }),
    );
    this.#deps.jobs.remove(rows.filter(({ previousState }) => previousState === 'dispatched'));
    this.#releases.add(rows);
    this.#dispatchAfterEnds(rows);
  }

  #logFailure(ends: readonly UnchargedEnd[], cause: unknown): void {
    this.#deps.process.logger.error({ event: 'ending_failed', ...batchFields(ends), err: cause });
  }
}

async function readOne(sql: Sql, key: AnswerKey): Promise<ReadRow | undefined> {
  const createdAt = timeOf(key.id);
  if (createdAt === undefined) return undefined;
  const [row] = await readAnswers(sql, [{ ...key, createdAt }]);
  return row;
}

interface MessageParts {
  id: string;
  conversationId: string;
  agentId: string;
  content: string;
  contentType: string;
  credits: number;
  tier: string;
  createdAt: number;
  status: string;
  failure: { code: string; message: string } | null;
  queries: AnswerMessage['queries'];
}

/** An answer as the message that callers get. */
export const toMessage = ({ credits, tier, createdAt, ...parts }: MessageParts): AnswerMessage => ({
  ...parts,
  role: 'assistant',
  creditsConsumed: credits,
  modelUsed: tier,
  createdAt: new Date(createdAt).toISOString(),
  // Readers of one message get it; it would make every announced end larger.
  record: null,
});

/** An answer that has just ended, with all that its listeners, the log and the metrics need. */
export interface EndedAnswer extends AnswerKey {
  readonly message: AnswerMessage;
  readonly outcome: Outcome;
  readonly userId: string;
  readonly attempt: number;
  readonly dispatches: number;
  readonly acceptedAt: number;
  readonly replyChannels: readonly string[];
  readonly requestId: string;
  /** The worker that is to stop; empty where none works on the answer. */
  readonly workerChannel: string;
}

const toEndedAnswer = (row: UnchargedRow, { status, content, failure, attempt }: UnchargedEnd): EndedAnswer => ({
  ...row,
  message: toMessage({
    id: row.id,
    conversationId: row.conversationId,
    agentId: row.agentId,
    content,
    contentType: 'markdown',
    credits: 0,
    tier: row.tier,
    createdAt: row.acceptedAt,
    status,
    failure: failure.code === '' ? null : failure,
    queries: [],
  }),
  outcome: status,
  // A worker that reports a failure needs no notice.
  workerChannel: attempt === null && row.previousState === 'running' ? row.workerChannel : '',
});

/** Tells the waiting gateways and the workers of ended answers, and writes one log line for each, without any content. */
export function announceEnds({ process: { logger }, replies, notices, metrics, now }: AnswersDeps, answers: readonly EndedAnswer[]): void {
  for (const { id, attempt, message, replyChannels, workerChannel } of answers) {
    for (const channel of replyChannels) replies.publish(channel, { kind: 'ended', id, message });
    if (workerChannel !== '') notices.publish(workerChannel, { kind: 'unwanted', id, attempt });
  }
  for (const answer of answers) {
    const durationMs = now() - answer.acceptedAt;
    metrics.observeEnd(answer.outcome, answer.message.failure?.code ?? '', durationMs);
    logger.info({
      event: 'answer_ended',
      request_id: answer.requestId,
      organization_id: answer.organizationId,
      environment: answer.environment,
      answer_id: answer.id,
      agent_id: answer.message.agentId,
      conversation_id: answer.message.conversationId,
      user_id: answer.userId,
      tier: answer.message.modelUsed,
      outcome: answer.outcome,
      failure: answer.message.failure?.code,
      credits: answer.message.creditsConsumed,
      attempt: answer.attempt,
      dispatches: answer.dispatches,
      duration_ms: durationMs,
    });
  }
}

const releaseLimitMs = 6_000;
const maxSweptReleases = 2_000;

/** Releases holds that are not to be settled. */
export interface Releases {
  /** Holds of all rows in the state `releasing`. */
  readonly queue: RetryQueue<AnswerKey>;
  /** Releases holds whose messages were not accepted, or perhaps not. The hold of a message that was accepted after all is kept. */
  releaseUnused(holds: readonly AnswerKey[]): void;
  /** The same for holds that a sweep has found: those that the queue has no room for are released later. */
  releaseOverdue(holds: readonly AnswerKey[]): Promise<void>;
}

export function createReleases(deps: AnswersDeps): Releases {
  const { process, store, credits, now } = deps;
  const queue = createRetryQueue<AnswerKey>(deps, 'releasing holds', release, maxSweptReleases);
  const unused = createRetryQueue<AnswerKey>(deps, 'releasing unused holds', markUnused);

  async function markUnused(holds: AnswerKey[]): Promise<boolean[]> {
    queue.add(await markUnusedHolds(store.sql, holds, now()));
    return holds.map(() => true);
  }

  async function release(holds: AnswerKey[]): Promise<(boolean | Error)[]> {
    const results = await callByTenant(holds, async (ofTenant) => {
      const { results } = await callDetached(releaseLimitMs, () => credits.release({ items: ofTenant.map(releaseItem) }));
      return ofTenant.map((_, index) => results[index] ?? {});
    });
    const outcomes = holds.map((hold, index) => {
      const result = results[index];
      return result instanceof Error ? result : isReleased(hold, result?.refusal?.code);
    });
    const released = holds.filter((_, index) => outcomes[index] === true);
    if (released.length > 0) await removeReleased(store.sql, released, now());
    return outcomes;
  }

  /** A settled hold needs no release: the answer was charged before. */
  function isReleased({ id, organizationId }: AnswerKey, refusal: string | undefined): boolean {
    if (refusal === undefined) return true;
    process.logger.warn({ event: 'release_refused', answer_id: id, organization_id: organizationId, code: refusal });
    return refusal === 'hold_settled';
  }

  return {
    queue,
    releaseUnused: (holds) => unused.add(holds),
    async releaseOverdue(holds) {
      queue.addFromSweep(await markUnusedHolds(store.sql, holds, now()));
    },
  };
}

const releaseItem = ({ organizationId, environment, id }: AnswerKey) => ({ tenant: { organizationId, environment }, holdId: id });
