import { newId } from '@agent-service/contracts';
import { judgeStatement } from '@agent-service/store';
import { type Batcher, createBatcher } from '@agent-service/work';
import { createAdmissions, type Decision, type Question } from './admissions.ts';
import { timeOf } from './domain/ids.ts';
import { acceptanceLimitMs, keyKeptMs } from './domain/times.ts';
import { firstOfEach } from './first-of-each.ts';
import { type HoldOutcome, holdAll, type Refusal } from './hold.ts';
import { byKey, nameOf } from './key.ts';
import { isolation } from './lanes.ts';
import type { Parts } from './parts.ts';
import { readInSteps } from './reading.ts';
import type { Releases } from './release.ts';
import { type Acceptable, type AcceptedRow, acceptMessages } from './store/accept.ts';
import { forgetKeys, openLinesFor } from './store/load.ts';
import { attachChannels, type ReadRow } from './store/read.ts';

const batchItems = 200;

/** An answer that somebody waits for from now on. */
export interface Started {
  readonly answerId: string;
  readonly conversationId: string;
  readonly createdAt: number;
  readonly deadline: number;
  readonly tier: string;
  readonly attached: boolean;
}

export type StartOutcome = { readonly started: Started } | { readonly refusal: Refusal };

export type Acceptance = Batcher<Question, StartOutcome>;

type Outcomes = Map<Question, StartOutcome | Error>;

interface Candidate {
  readonly question: Question;
  readonly tier: string;
}

const refused = (code: Refusal['code']): StartOutcome => ({ refusal: { code } });

/** Accepts messages, many in one go: a look, the holds, one statement that commits all. */
export function createAcceptance(parts: Parts, releases: Releases): Acceptance {
  const { process, store, limits, jobs, metrics, now } = parts;
  const admissions = createAdmissions(store.sql, limits, now);
  const perhapsHeld = new WeakSet<Question>();

  async function run(questions: Question[]): Promise<(StartOutcome | Error)[]> {
    const outcomes: Outcomes = new Map();
    // Of several that get in each other's way one goes first; the others then find what became of it.
    let rest: readonly Question[] = questions;
    while (rest.length > 0) {
      const { first, later } = firstOfEach(rest);
      for (const [question, outcome] of await startAll(first)) outcomes.set(question, outcome);
      rest = later;
    }
    return questions.map((question) => outcomes.get(question) ?? new Error('a message came back without an outcome'));
  }

  async function startAll(questions: readonly Question[]): Promise<Outcomes> {
    const lookedAt = performance.now();
    const decisions = await admissions.decide(questions);
    releaseUnused(decisions);
    const outcomes = await conclude(decisions);
    const candidates = decisions.flatMap(({ question, admission, tier }) => (admission.kind === 'admit' ? [{ question, tier }] : []));
    await prepare(decisions);
    for (const { question } of candidates) perhapsHeld.add(question);
    const held = await holdAll(parts, candidates.map(toHoldable));
    for (const [index, candidate] of candidates.entries()) refuseUnheld(outcomes, candidate, held[index]);
    const paid = candidates.filter((_, index) => isHeld(held[index]));
    const inTime = performance.now() - lookedAt < acceptanceLimitMs ? paid.filter(isAwaited) : [];
    const accepted = await commit(inTime);
    for (const started of accepted.values()) outcomes.set(started.question, started.outcome);
    await explain(
      outcomes,
      paid.filter(({ question }) => !outcomes.has(question)),
    );
    return outcomes;
  }

  /** An earlier run of the batch may have held credits for messages that are refused or attached to another answer now. */
  function releaseUnused(decisions: readonly Decision[]): void {
    const isUnused = ({ admission, question }: Decision) =>
      (admission.kind === 'refuse' || admission.kind === 'attach') && perhapsHeld.has(question);
    releases.disown(decisions.filter(isUnused).map(({ question }) => question));
  }

  /** What the decisions call for before anything can be written: lines of new tenants, and room for keys used again. */
  async function prepare(decisions: readonly Decision[]): Promise<void> {
    const admitted = decisions.filter(({ admission }) => admission.kind === 'admit');
    await openLinesFor(
      store.sql,
      admitted.filter(({ lineFound }) => !lineFound).map(({ question }) => question),
    );
    const outlived = admitted.filter(({ keyOutlived }) => keyOutlived);
    await forgetKeys(
      store.sql,
      outlived.map(({ question }) => question),
      now() - keyKeptMs,
    );
  }

  function refuseUnheld(outcomes: Outcomes, { question }: Candidate, hold: HoldOutcome | Error | undefined): void {
    if (hold instanceof Error) outcomes.set(question, hold);
    else if (hold && !hold.held) {
      outcomes.set(question, { refusal: hold.refusal });
      if (hold.perhaps) releases.disown([question]);
    }
  }

  async function commit(candidates: readonly Candidate[]): Promise<Map<string, { question: Question; outcome: StartOutcome }>> {
    const messages = candidates.map(toAcceptable);
    const known = byKey(messages);
    const rows = await accept(messages);
    jobs.add(rows.flatMap((row) => dispatchedOf(row, known.get(nameOf(row)))));
    return new Map(
      rows.flatMap((row) => {
        const message = known.get(nameOf(row));
        if (!message) return [];
        metrics.accepted();
        return [[nameOf(row), { question: message.question, outcome: { started: startedBy(message) } }]];
      }),
    );
  }

  /** None where the database is away, or where the only message's Idempotency-Key was taken meanwhile; what follows tells. */
  async function accept(messages: readonly Acceptable[]): Promise<AcceptedRow[]> {
    if (messages.length === 0) return [];
    try {
      return await acceptMessages(store.sql, messages, limits, now());
    } catch (cause) {
      const kind = judgeStatement(cause);
      if (kind !== 'all' && (messages.length > 1 || kind !== 'item')) throw cause;
      process.logger.warn({ event: 'accepting_failed', answers: messages.length, answer_id: messages[0]?.id, err: cause });
      return [];
    }
  }

  function failed(questions: readonly Question[], cause: unknown): void {
    releases.disown(questions.filter((question) => perhapsHeld.has(question)));
    process.logger.warn({
      event: 'accepting_failed',
      answers: questions.length,
      organization_id: questions[0]?.organizationId,
      err: cause,
    });
  }

  /** Those that were held and yet not accepted: something has changed meanwhile, or nobody knows whether they were. */
  async function explain(outcomes: Outcomes, candidates: readonly Candidate[]): Promise<void> {
    if (candidates.length === 0) return;
    const questions = candidates.map(({ question }) => question);
    // An accepted answer's hold is known by its row and stays.
    releases.disown(questions);
    const decisions = await admissions.decide(questions).catch((cause: unknown) => {
      process.logger.warn({ event: 'explaining_failed', answers: questions.length, err: cause });
      return [];
    });
    for (const [question, outcome] of await conclude(decisions)) outcomes.set(question, outcome);
    for (const question of questions) if (!outcomes.has(question)) outcomes.set(question, refused('unavailable'));
  }

  /** The outcomes that need no credits. */
  async function conclude(decisions: readonly Decision[]): Promise<Map<Question, StartOutcome>> {
    const outcomes = new Map<Question, StartOutcome>();
    for (const { question, admission } of decisions) if (admission.kind === 'refuse') outcomes.set(question, refused(admission.code));
    const attached = decisions.flatMap(({ question, admission }) => {
      if (admission.kind === 'again') return [{ question, key: question, attached: false }];
      return admission.kind === 'attach' ? [{ question, key: { ...question, id: admission.answerId }, attached: true }] : [];
    });
    for (const [question, outcome] of await attach(attached)) outcomes.set(question, outcome);
    return outcomes;
  }

  async function attach(
    attached: readonly { question: Question; key: Question; attached: boolean }[],
  ): Promise<Map<Question, StartOutcome>> {
    if (attached.length === 0) return new Map();
    // Before they are looked at: whoever ends one of them from here on tells this channel too.
    const listeners = attached.map(({ key }) => key);
    await attachChannels(store.sql, listeners);
    const rows = byKey(
      await readInSteps(
        store.sql,
        attached.map(({ key }) => ({ ...key, createdAt: timeOf(key.id) ?? 0 })),
        ({ content: _, queries: __, ...row }) => row,
      ),
    );
    return new Map(
      attached.map(({ question, key, attached: byIdempotencyKey }) => {
        const row = rows.get(nameOf(key));
        return [question, row ? { started: startedAs(row, byIdempotencyKey) } : refused('not_found')];
      }),
    );
  }

  const startedAs = (row: Pick<ReadRow, 'id' | 'conversationId' | 'createdAt' | 'tier'>, attached: boolean): Started => ({
    answerId: row.id,
    conversationId: row.conversationId,
    createdAt: row.createdAt,
    deadline: row.createdAt + limits.deadlineMs,
    tier: row.tier,
    attached,
  });

  const deadlineOf = ({ acceptedAt }: Question) => acceptedAt + limits.deadlineMs;

  const toHoldable = ({ question, tier }: Candidate) => ({ ...question, tier, deadline: deadlineOf(question) });

  const toAcceptable = ({ question, tier }: Candidate): Acceptable & { readonly question: Question } => ({
    ...question,
    question,
    tier,
    deadline: deadlineOf(question),
    newConversationId: newId('conv', question.acceptedAt),
  });

  const startedBy = (message: Acceptable): Started => ({
    answerId: message.id,
    conversationId: message.conversationId || message.newConversationId,
    createdAt: message.acceptedAt,
    deadline: message.deadline,
    tier: message.tier,
    attached: false,
  });

  return createBatcher({ run, maxItems: batchItems, onFailure: failed, ...isolation<Question>(parts) });
}

const isHeld = (hold: HoldOutcome | Error | undefined): boolean => hold !== undefined && !(hold instanceof Error) && hold.held;

/** Nobody waits any more for one whose caller was told that it took too long. */
const isAwaited = ({ question }: Candidate) => performance.now() <= question.callerExpiresAt && !question.hasLeft();

const dispatchedOf = (row: AcceptedRow, message: Acceptable | undefined) =>
  row.state === 'dispatched' && message ? [{ ...row, dispatches: 1, apart: false, shared: false, traceparent: message.traceparent }] : [];
