import { judgeStatement } from '@agent-service/store';
import { createBatcher } from '@agent-service/work';
import { type AnswersDeps, batchOptions } from './deps.ts';
import { maxLostLeases } from './domain/times.ts';
import { type EndAnswers, failed, failureOf } from './end.ts';
import { type AttemptKey, byKey, nameOf } from './keys.ts';
import { type RedispatchedRow, renewLeases, returnAnswers, takeFromDead } from './store/leases.ts';

const leasesABatch = 1_000;

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
    createBatcher<AttemptKey, Outcome>({ run, maxItems: leasesABatch, ...batchOptions<AttemptKey>(deps) });

  const renewals = createLeaseBatcher(async (attempts) => {
    const renewed = byKey(await renewLeases(store.sql, attempts, now()));
    return attempts.map((attempt) => renewed.get(nameOf(attempt))?.attempt === attempt.attempt);
  });
  const returns = createLeaseBatcher(async (attempts) => {
    const rows = await returnAnswers(store.sql, attempts, now());
    if (rows.length > 0) metrics.redispatched('returned', rows.length);
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
      const away = outcomes.find((outcome) => outcome.status === 'rejected' && judgeStatement(outcome.reason) === 'all');
      if (away?.status === 'rejected') throw away.reason;
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
  if (redispatched.length > 0) metrics.redispatched(reason, redispatched.length);
  jobs.add(redispatched);
  const abandoned = answers.filter(({ lostLeases }) => lostLeases >= maxLostLeases);
  await endAnswers.end(abandoned.map((key) => failed(key, failureOf('answer_abandoned'))));
}
