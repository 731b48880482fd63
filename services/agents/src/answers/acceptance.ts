import { ServiceError } from '@agent-service/contracts';
import { type Batcher, createBatcher } from '@agent-service/runtime';
import { newId } from '@agent-service/store';
import { timeOf } from '../domain/answers/ids.ts';
import { acceptanceLimitMs, keyKeptMs } from '../domain/answers/times.ts';
import { createAdmissions, type Decision, type Question } from './admissions.ts';
import { onceMoreAfterDeadlock } from './deadlocks.ts';
import { firstOfEach } from './first-of-each.ts';
import { type HoldOutcome, holdAll, type Refusal } from './hold.ts';
import { type AnswerKey, byKey, nameOf } from './key.ts';
import { togetherOrAlone } from './one-by-one.ts';
import type { Parts } from './parts.ts';
import { readInSteps } from './reading.ts';
import type { Releases } from './release.ts';
import { type Acceptable, type AcceptedRow, acceptMessages } from './store/accept.ts';
import { forgetKeys, openLinesFor } from './store/load.ts';
import { attachChannels, type ReadRow } from './store/read.ts';

const batchItems = 200;
/** While one waits for the ledger, others load and commit. */
const batchesOut = 1;

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

interface Candidate {
  readonly question: Question;
  readonly tier: string;
}

const refused = (code: Refusal['code']): StartOutcome => ({ refusal: { code } });

/** Accepts messages, many in one go: a look, the holds, one statement that commits all. */
export function createAcceptance(parts: Parts, releases: Releases): Acceptance {
  const { process, store, limits, jobs, metrics, now } = parts;
  const admissions = createAdmissions(store.sql, limits, now);

  async function run(questions: Question[]): Promise<(StartOutcome | Error)[]> {
    const outcomes = new Map<Question, StartOutcome>();
    // Of several that get in each other's way one goes first; the others then find what became of it.
    let rest: readonly Question[] = questions;
    while (rest.length > 0) {
      const { first, later } = firstOfEach(rest);
      for (const [question, outcome] of await startAll(first)) outcomes.set(question, outcome);
      rest = later;
    }
    return questions.map((question) => outcomes.get(question) ?? new Error('a message came back without an outcome'));
  }

  async function startAll(questions: readonly Question[]): Promise<Map<Question, StartOutcome>> {
    const lookedAt = performance.now();
    const decisions = await admissions.decide(questions);
    const outcomes = await conclude(decisions);
    const candidates = decisions.flatMap(({ question, admission, tier }) => (admission.kind === 'admit' ? [{ question, tier }] : []));
    await prepare(decisions);
    const held = await holdAll(parts, candidates.map(toHoldable));
    for (const [index, candidate] of candidates.entries()) refuseUnheld(outcomes, candidate, held[index]);
    const paid = candidates.filter((_, index) => held[index]?.held);
    const inTime = performance.now() - lookedAt < acceptanceLimitMs ? paid.filter(isAwaited) : [];
    const accepted = await commit(inTime);
    for (const started of accepted.values()) outcomes.set(started.question, started.outcome);
    await explain(
      outcomes,
      paid.filter(({ question }) => !outcomes.has(question)),
    );
    return outcomes;
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

  function refuseUnheld(outcomes: Map<Question, StartOutcome>, { question }: Candidate, hold: HoldOutcome | undefined): void {
    if (!hold || hold.held) return;
    outcomes.set(question, { refusal: hold.refusal });
    if (hold.perhaps) releases.disown([question]);
  }

  async function commit(candidates: readonly Candidate[]): Promise<Map<string, { question: Question; outcome: StartOutcome }>> {
    const messages = candidates.map(toAcceptable);
    const known = byKey(messages);
    const rows = await togetherOrAlone(messages, (some) => acceptMessages(store.sql, some, limits, now()), failedAlone).catch(
      (cause: unknown): AcceptedRow[] => {
        process.logger.warn({ event: 'accepting_failed', answers: messages.length, err: cause });
        return [];
      },
    );
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

  /** Most likely an Idempotency-Key that was taken meanwhile; what follows tells. */
  function failedAlone({ id, organizationId }: AnswerKey, cause: unknown): void {
    process.logger.warn({ event: 'accepting_failed', answer_id: id, organization_id: organizationId, err: cause });
  }

  /** Those that were held and yet not accepted: something has changed meanwhile, or nobody knows whether they were. */
  async function explain(outcomes: Map<Question, StartOutcome>, candidates: readonly Candidate[]): Promise<void> {
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
    await onceMoreAfterDeadlock(() => attachChannels(store.sql, listeners));
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

  return createBatcher({
    run: (questions: Question[]) => run(questions).catch(failAll(questions)),
    maxItems: batchItems,
    concurrency: batchesOut,
  });
}

/** Nobody waits any more for one whose caller was told that it took too long. */
const isAwaited = ({ question }: Candidate) => performance.now() <= question.callerExpiresAt;

const dispatchedOf = (row: AcceptedRow, message: Acceptable | undefined) =>
  row.state === 'dispatched' && message ? [{ ...row, dispatches: 1, apart: false, traceparent: message.traceparent }] : [];

const failAll =
  (questions: readonly Question[]) =>
  (cause: unknown): (StartOutcome | Error)[] => {
    const failure = ServiceError.from(cause);
    return questions.map(() => failure);
  };
