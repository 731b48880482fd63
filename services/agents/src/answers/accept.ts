import { newId } from '@agent-service/contracts';
import { classifyDatabaseFailure } from '@agent-service/store';
import { type Batcher, createBatcher } from '@agent-service/work';
import { type AnswerKey, acceptanceLimitMs, batchFields, byKey, nameOf, withTime } from '../shared/answer.ts';
import { type Admission, admit, type HoldOutcome, holdAll, isExpired, type Refusal } from './admission.ts';
import { type AnswersDeps, batchOptions } from './deps.ts';
import { type Reservation, sendAssignments, type WaitingWorkers } from './dispatch.ts';
import type { Releases } from './end.ts';
import {
  type AcceptedRow,
  acceptMessages,
  attachChannels,
  type Candidate,
  loadSituations,
  type Message,
  openLines,
  removeExpiredKeysOf,
  type Situation,
} from './store/accept.ts';
import { findInDeletedConversations, readInSteps } from './store/read.ts';
import type { AttemptInput } from './store/sql.ts';

const batchItems = 200;

/** An accepted answer, which its caller waits for from now on. */
interface StartedAnswer {
  readonly answerId: string;
  readonly conversationId: string;
  readonly createdAt: number;
  readonly deadline: number;
  readonly tier: string;
  /** It was accepted before, under the same Idempotency-Key. */
  readonly attached: boolean;
}

export type StartOutcome = { readonly started: StartedAnswer } | { readonly refusal: Refusal };

type Outcomes = Map<Message, StartOutcome | Error>;

interface Decision {
  readonly message: Message;
  readonly situation: Situation;
  readonly admission: Admission;
}

const refused = (code: Refusal['code'], param?: string): StartOutcome => ({ refusal: { code, ...(param && { param }) } });

/** Accepts messages in batches: reads their situations, holds their credits, and commits all of them with one statement. */
export class Acceptance {
  readonly #deps: AnswersDeps;
  readonly #releases: Releases;
  readonly #waitingWorkers: WaitingWorkers;
  readonly #batcher: Batcher<Message, StartOutcome>;
  readonly #mayBeHeld = new WeakSet<Message>();
  /** The end of the latest acceptance with each exclusive name, while it is under way. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(deps: AnswersDeps, releases: Releases, waitingWorkers: WaitingWorkers) {
    this.#deps = deps;
    this.#releases = releases;
    this.#waitingWorkers = waitingWorkers;
    this.#batcher = createBatcher({
      run: (messages) => this.#run(messages),
      maxItems: batchItems,
      onFailure: (messages, cause) => this.#releaseAndLog(messages, cause),
      ...batchOptions<Message>(deps, 'ledger'),
    });
  }

  /**
   * Messages that conflict are accepted one after the other, so that the later ones meet the outcome of the first. They wait outside of the
   * batches, which other tenants share.
   */
  accept(message: Message): Promise<StartOutcome> {
    const names = exclusiveNames(message);
    const outcome = this.#acceptAfter(
      names.flatMap((name) => this.#underWay.get(name) ?? []),
      message,
    );
    const forget = () => {
      for (const name of names) if (this.#underWay.get(name) === end) this.#underWay.delete(name);
    };
    const end = outcome.then(forget, forget);
    for (const name of names) this.#underWay.set(name, end);
    return outcome;
  }

  /** Refuses a message whose caller has left in the meantime, so that the messages behind it do not wait for its batch. */
  async #acceptAfter(conflicting: readonly Promise<void>[], message: Message): Promise<StartOutcome> {
    if (conflicting.length === 0) return this.#batcher.add(message);
    await Promise.all(conflicting);
    return isAwaited(message) ? this.#batcher.add(message) : refused('unavailable');
  }

  async #run(messages: Message[]): Promise<(StartOutcome | Error)[]> {
    const outcomes = await this.#acceptAll(messages);
    return messages.map((message) => outcomes.get(message) ?? new Error('a message came back without an outcome'));
  }

  /** Accepts messages that do not conflict. A message has its outcome after the first step that decides about it. */
  async #acceptAll(messages: readonly Message[]): Promise<Outcomes> {
    // 1. Refuse messages by their situations, and attach those whose answers exist.
    const readAt = performance.now();
    const decisions = await this.#decide(messages);
    this.#releaseUnused(decisions);
    const outcomes: Outcomes = await this.#resolveWithoutCredits(decisions);

    // 2. Hold the credits of the others, and refuse messages without a hold.
    const admitted = decisions.filter(({ admission }) => admission.kind === 'admit');
    await this.#prepare(admitted);
    const candidates = admitted.map((decision) => this.#toCandidate(decision));
    for (const { message } of candidates) this.#mayBeHeld.add(message);
    const holds = await holdAll(this.#deps, candidates);
    for (const [index, candidate] of candidates.entries()) this.#refuseWithoutHold(outcomes, candidate, holds[index]);
    await this.#attachWithoutHold(
      outcomes,
      candidates.filter((_, index) => isRefused(holds[index])),
    );

    // 3. Commit messages with a hold whose callers still wait, unless step 1 read too long ago.
    const withHold = candidates.filter((_, index) => isHeld(holds[index]));
    const isInTime = performance.now() - readAt < acceptanceLimitMs;
    for (const [message, outcome] of await this.#commit(isInTime ? withHold.filter(({ message }) => isAwaited(message)) : []))
      outcomes.set(message, outcome);

    // 4. Release the holds of messages that were not committed, and find out why.
    await this.#releaseAndExplain(
      outcomes,
      withHold.map(({ message }) => message).filter((message) => !outcomes.has(message)),
    );
    return outcomes;
  }

  async #decide(messages: readonly Message[]): Promise<Decision[]> {
    const { store, limits, now } = this.#deps;
    if (messages.length === 0) return [];
    const situations = await loadSituations(store.sql, messages);
    return messages.map((message, n) => {
      const situation = situations[n] as Situation;
      return { message, situation, admission: admit(situation, limits, now()) };
    });
  }

  /** An earlier run of the batch may hold credits for messages that are now refused or attached to another answer. */
  #releaseUnused(decisions: readonly Decision[]): void {
    const isUnused = ({ admission, message }: Decision) =>
      (admission.kind === 'refuse' || admission.kind === 'attach') && this.#mayBeHeld.has(message);
    this.#releases.releaseUnused(decisions.filter(isUnused).map(({ message }) => message));
  }

  /** Opens lines for new tenants, and removes expired Idempotency-Keys that are used again. */
  async #prepare(admitted: readonly Decision[]): Promise<void> {
    const { store, now } = this.#deps;
    await openLines(
      store.sql,
      admitted.filter(({ situation }) => !situation.hasLine).map(({ message }) => message),
    );
    await removeExpiredKeysOf(
      store.sql,
      admitted.filter(({ situation }) => isExpired(situation.key, now())).map(({ message }) => message),
      now(),
    );
  }

  #refuseWithoutHold(outcomes: Outcomes, { message }: Candidate, hold: HoldOutcome | Error | undefined): void {
    if (hold instanceof Error) outcomes.set(message, hold);
    else if (hold && !hold.isHeld) {
      outcomes.set(message, { refusal: hold.refusal });
      if (hold.mayBeHeld) this.#releases.releaseUnused([message]);
    }
  }

  /** The first request with an Idempotency-Key may have been accepted, and taken the last credits, since the key was looked up. */
  async #attachWithoutHold(outcomes: Outcomes, candidates: readonly Candidate[]): Promise<void> {
    const decisions = await this.#decide(
      candidates.map(({ message }) => message).filter(({ idempotencyScope }) => idempotencyScope !== ''),
    );
    const attached = decisions.filter(({ admission }) => admission.kind === 'attach');
    for (const [message, outcome] of await this.#resolveWithoutCredits(attached)) outcomes.set(message, outcome);
  }

  async #commit(candidates: readonly Candidate[]): Promise<Map<Message, StartOutcome>> {
    const candidateOf = byKey(candidates);
    const rows = await this.#insertForWorkers(candidates);
    this.#deps.jobs.add(
      rows.filter(({ state }) => state === 'dispatched').flatMap((row) => toJob(row, candidateOf.get(nameOf(row))?.message)),
    );
    const outcomes = new Map<Message, StartOutcome>();
    for (const row of rows) {
      const candidate = candidateOf.get(nameOf(row));
      if (!candidate) continue;
      this.#deps.metrics.countAcceptance();
      const { id: answerId, conversationId, deadline, tier, message } = candidate;
      outcomes.set(message, {
        started: { answerId, conversationId, createdAt: message.acceptedAt, deadline, tier, attached: false },
      });
    }
    return outcomes;
  }

  /** Begins the answers for workers that have capacity for them. The others get jobs, or wait. */
  async #insertForWorkers(candidates: readonly Candidate[]): Promise<AcceptedRow[]> {
    const reserved = this.#waitingWorkers.reserve(candidates.length);
    const workers = new Map(candidates.map((candidate, index) => [nameOf(candidate), reserved[index]]));
    try {
      const rows = await this.#insert(
        candidates.map((candidate) => ({ ...candidate, workerChannel: workers.get(nameOf(candidate))?.workerChannel })),
      );
      this.#assign(rows, byKey(candidates), workers);
      return rows;
    } finally {
      for (const reservation of workers.values()) reservation?.release();
    }
  }

  /** Sends the attempts that have begun to their workers, and removes these from the map. */
  #assign(rows: readonly AcceptedRow[], candidates: ReadonlyMap<string, Candidate>, workers: Map<string, Reservation | undefined>): void {
    const attempts = rows.flatMap((row) => {
      const name = nameOf(row);
      const [candidate, reservation] = [candidates.get(name), workers.get(name)];
      if (row.state !== 'running' || !candidate || !reservation) return [];
      workers.delete(name);
      return [{ input: toAttemptInput(row, candidate), reservation }];
    });
    sendAssignments(this.#deps, this.#waitingWorkers, attempts);
  }

  /**
   * Returns no rows where the database is unavailable, or the Idempotency-Key of the only message was taken in the meantime:
   * `#releaseAndExplain` finds out which.
   */
  async #insert(candidates: readonly Candidate[]): Promise<AcceptedRow[]> {
    const { store, limits, process, now } = this.#deps;
    if (candidates.length === 0) return [];
    try {
      return await acceptMessages(store.sql, candidates, limits, now());
    } catch (cause) {
      const kind = classifyDatabaseFailure(cause);
      if (kind !== 'all' && (candidates.length > 1 || kind !== 'item')) throw cause;
      process.logger.warn({ event: 'inserting_failed', ...batchFields(candidates), err: cause });
      // The statement may have been committed: then the attempts have begun, and their workers do not know of them.
      this.#waitingWorkers.takeBack(
        candidates.filter(({ workerChannel }) => workerChannel !== undefined).map((key) => ({ ...key, attempt: 1 })),
      );
      return [];
    }
  }

  /** A run of the batch may have held credits for the messages before it failed. */
  #releaseAndLog(messages: readonly Message[], cause: unknown): void {
    this.#releases.releaseUnused(messages.filter((message) => this.#mayBeHeld.has(message)));
    this.#deps.process.logger.warn({ event: 'accepting_failed', ...batchFields(messages), err: cause });
  }

  /** Releases the holds of messages that were not accepted, and finds out why: their situation has changed, or the statement's outcome is unknown. */
  async #releaseAndExplain(outcomes: Outcomes, messages: readonly Message[]): Promise<void> {
    if (messages.length === 0) return;
    // The hold of an answer that was accepted after all is kept: its row exists.
    this.#releases.releaseUnused(messages);
    const decisions = await this.#decide(messages).catch((cause: unknown) => {
      this.#deps.process.logger.warn({ event: 'explaining_failed', ...batchFields(messages), err: cause });
      return [];
    });
    for (const [message, outcome] of await this.#resolveWithoutCredits(decisions)) outcomes.set(message, outcome);
    for (const message of messages) if (!outcomes.has(message)) outcomes.set(message, refused('unavailable'));
  }

  /** Resolves to the outcomes of messages that are refused, or whose answers were accepted before. */
  async #resolveWithoutCredits(decisions: readonly Decision[]): Promise<Map<Message, StartOutcome>> {
    const outcomes = new Map<Message, StartOutcome>();
    const acceptedBefore: AcceptedBefore[] = [];
    for (const { message, admission } of decisions) {
      if (admission.kind === 'refuse') outcomes.set(message, refused(admission.code, admission.param));
      if (admission.kind === 'repeat') acceptedBefore.push({ ...message, message, isAttached: false });
      if (admission.kind === 'attach') acceptedBefore.push({ ...message, id: admission.answerId, message, isAttached: true });
    }
    for (const [message, outcome] of await this.#attachAll(acceptedBefore)) outcomes.set(message, outcome);
    return outcomes;
  }

  /** Lets the callers of the messages wait for the answers that were accepted before. */
  async #attachAll(acceptedBefore: readonly AcceptedBefore[]): Promise<Map<Message, StartOutcome>> {
    if (acceptedBefore.length === 0) return new Map();
    const { store, limits } = this.#deps;
    // First the channels, then the answers: an answer that ends in between is then either read as ended or announced on the channel.
    await attachChannels(store.sql, acceptedBefore);
    const keys = acceptedBefore.map(withTime);
    const rows = byKey(await readInSteps(store.sql, keys, ({ content: _, queries: __, ...row }) => row));
    const attached = acceptedBefore.flatMap((key) => (key.isAttached ? (rows.get(nameOf(key)) ?? []) : []));
    const deleted = new Set(await findInDeletedConversations(store.sql, attached));
    return new Map(
      acceptedBefore.map(({ message, isAttached, ...key }) => {
        const row = rows.get(nameOf(key));
        // The answer of an Idempotency-Key is gone only together with its conversation.
        if (isAttached && (!row || deleted.has(row))) return [message, refused('not_found', 'conversation_id')];
        if (!row) return [message, refused('not_found')];
        const { id: answerId, conversationId, createdAt, tier } = row;
        return [
          message,
          { started: { answerId, conversationId, createdAt, deadline: createdAt + limits.deadlineMs, tier, attached: isAttached } },
        ];
      }),
    );
  }

  #toCandidate({ message, situation: { tier } }: Decision): Candidate {
    const { organizationId, environment, id, acceptedAt } = message;
    return {
      organizationId,
      environment,
      id,
      message,
      tier,
      deadline: acceptedAt + this.#deps.limits.deadlineMs,
      conversationId: message.conversationId || newId('conv', acceptedAt),
    };
  }
}

/** A message whose answer was accepted before. */
type AcceptedBefore = AnswerKey &
  Pick<Message, 'replyChannel' | 'stream'> & {
    readonly message: Message;
    /** True for another request with the Idempotency-Key, false where the same message was sent again. */
    readonly isAttached: boolean;
  };

const isHeld = (hold: HoldOutcome | Error | undefined): boolean => hold !== undefined && !(hold instanceof Error) && hold.isHeld;

/** The ledger has decided against the hold. */
const isRefused = (hold: HoldOutcome | Error | undefined): boolean =>
  hold !== undefined && !(hold instanceof Error) && !hold.isHeld && !hold.mayBeHeld;

/** A message whose caller got a timeout or has disconnected is not accepted. */
const isAwaited = ({ callerExpiresAt, isCallerDisconnected }: Message) => performance.now() <= callerExpiresAt && !isCallerDisconnected();

const toAttemptInput = (
  { state: _state, priority: _priority, ...row }: Extract<AcceptedRow, { state: 'running' }>,
  { message, tier, deadline, conversationId }: Candidate,
): AttemptInput => ({
  ...row,
  claim: '',
  attempt: 1,
  deadline,
  agentId: message.agentId,
  conversationId,
  continues: message.conversationId !== '',
  userId: message.userId,
  tier,
  message: message.text,
  contextJson: message.contextJson,
  replyChannels: message.replyChannel === '' ? [] : [message.replyChannel],
  stream: message.stream,
  requestId: message.requestId,
  traceparent: message.traceparent,
  changedBefore: false,
});

const toJob = (row: AcceptedRow, message: Message | undefined) =>
  message ? [{ ...row, dispatches: 1, apart: false, shared: false, traceparent: message.traceparent }] : [];

/** Messages conflict if they share an id, a conversation or an Idempotency-Key. */
function exclusiveNames(message: Message): string[] {
  const { conversationId, idempotencyScope } = message;
  const names = [`id ${nameOf(message)}`];
  if (conversationId !== '') names.push(`conversation ${nameOf({ ...message, id: conversationId })}`);
  if (idempotencyScope !== '') names.push(`key ${nameOf({ ...message, id: idempotencyScope })}`);
  return names;
}
