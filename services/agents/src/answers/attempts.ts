import { type Batcher, createBatcher } from '@agent-service/work';
import { type AnswerKey, type AttemptKey, byKey, firstOfEachKey, maxLostLeases, nameOf } from '../shared/answer.ts';
import { type AnswersDeps, batchOptions, throwIfDatabaseAway } from './deps.ts';
import { type EndAnswers, failureOf, toFailedEnd } from './end.ts';
import { type BegunRow, beginAnswers, type Claim, findUnended, renewLeases, returnAnswers, takeFromDead } from './store/attempts.ts';
import { type AttemptInput, loadHistories, type RedispatchedRow, type Turn } from './store/sql.ts';

const batchItems = 200;

export type BeginOutcome =
  | { readonly input: AttemptInput; readonly history: readonly Turn[] }
  | { readonly refusal: { readonly code: 'attempt_superseded' | 'not_found' } };

const hasAgent = (row: BegunRow): row is AttemptInput => row.systemPrompt !== null;

/** Gives answers to workers: each gets one attempt, with everything that it needs. */
export function createBeginBatcher(deps: AnswersDeps, endAnswers: EndAnswers): Batcher<Claim, BeginOutcome> {
  const { store, now, background } = deps;

  async function run(claims: Claim[]): Promise<BeginOutcome[]> {
    // A statement changes a row once: of two claims for one answer only the first runs.
    const rows = await beginAnswers(store.sql, firstOfEachKey(claims), now());
    endOrphans(rows.filter((row) => !hasAgent(row)));
    const inputs = byKey(rows.filter(hasAgent));
    const missing = claims.filter((claim) => inputs.get(nameOf(claim))?.claim !== claim.claim);
    const [histories, unended] = await Promise.all([loadHistories(store.sql, [...inputs.values()]), findNames(missing)]);
    return claims.map((claim) => {
      const row = inputs.get(nameOf(claim));
      if (row?.claim === claim.claim) return { input: row, history: histories.get(nameOf(row)) ?? [] };
      return { refusal: { code: unended.has(nameOf(claim)) ? 'attempt_superseded' : 'not_found' } };
    });
  }

  const findNames = async (keys: readonly AnswerKey[]): Promise<Set<string>> =>
    new Set(keys.length === 0 ? [] : (await findUnended(store.sql, keys)).map(nameOf));

  /**
   * Ends answers whose agent was deleted by a process that has not ended them yet, or died before. Other tenants of the batch do not wait for
   * this. If it fails, the leases expire, and the next attempt to begin the answers repeats it.
   */
  function endOrphans(rows: readonly AnswerKey[]): void {
    if (rows.length === 0) return;
    const ends = rows.map((row) => toFailedEnd(row, failureOf('agent_deleted')));
    background.run('ending answers without an agent', () => endAnswers.end(ends));
  }

  return createBatcher({ run, maxItems: batchItems, ...batchOptions<Claim>(deps) });
}

const maxLeasesPerBatch = 1_000;

/** The leases of attempts. Each call is batched with those of other workers. */
export interface Leases {
  /** Returns the attempts that still have their leases. */
  renew(attempts: readonly AttemptKey[]): Promise<AttemptKey[]>;
  /** Takes attempts back from a worker that stops. */
  return(attempts: readonly AttemptKey[]): Promise<void>;
  /** Takes attempts from a process that has died. */
  lose(attempts: readonly AttemptKey[]): Promise<void>;
}

export function createLeases(deps: AnswersDeps, endAnswers: EndAnswers): Leases {
  const { store, metrics, jobs, now } = deps;
  const createLeaseBatcher = <Outcome>(run: (attempts: AttemptKey[]) => Promise<Outcome[]>) =>
    createBatcher<AttemptKey, Outcome>({ run, maxItems: maxLeasesPerBatch, ...batchOptions<AttemptKey>(deps) });

  const renewals = createLeaseBatcher(async (attempts) => {
    const renewed = byKey(await renewLeases(store.sql, attempts, now()));
    return attempts.map((attempt) => renewed.get(nameOf(attempt))?.attempt === attempt.attempt);
  });
  const returns = createLeaseBatcher(async (attempts) => {
    const rows = await returnAnswers(store.sql, attempts, now());
    if (rows.length > 0) metrics.countRedispatches('returned', rows.length);
    jobs.add(rows);
    return attempts.map(() => undefined);
  });
  const losses = createLeaseBatcher(async (attempts) => {
    await redispatchOrFail(deps, endAnswers, await takeFromDead(store.sql, attempts, now()), 'died');
    return attempts.map(() => undefined);
  });

  return {
    async renew(attempts) {
      const outcomes = await Promise.allSettled(attempts.map((attempt) => renewals.add(attempt)));
      throwIfDatabaseAway(outcomes);
      // A lease whose row was locked is not lost: the worker renews it again.
      return attempts.filter((_, index) => outcomes[index]?.status === 'rejected' || outcomes[index]?.value);
    },
    async return(attempts) {
      await Promise.all(attempts.map((attempt) => returns.add(attempt)));
    },
    async lose(attempts) {
      await Promise.all(attempts.map((attempt) => losses.add(attempt)));
    },
  };
}

/** Adds jobs for answers that have lost a lease, and fails those that have lost too many in a row. */
export async function redispatchOrFail(
  { metrics, jobs }: Pick<AnswersDeps, 'metrics' | 'jobs'>,
  endAnswers: EndAnswers,
  answers: readonly RedispatchedRow[],
  reason: 'lease' | 'died',
): Promise<void> {
  const redispatched = answers.filter(({ lostLeases }) => lostLeases < maxLostLeases);
  if (redispatched.length > 0) metrics.countRedispatches(reason, redispatched.length);
  jobs.add(redispatched);
  await failAbandoned(
    endAnswers,
    answers.filter(({ lostLeases }) => lostLeases >= maxLostLeases),
  );
}

/** Fails answers that have lost too many leases in a row. */
export async function failAbandoned(endAnswers: EndAnswers, answers: readonly AnswerKey[]): Promise<void> {
  await endAnswers.end(answers.map((key) => toFailedEnd(key, failureOf('answer_abandoned'))));
}
