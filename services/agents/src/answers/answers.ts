import type { ProcessContext } from '@agent-service/runtime';
import { judgeStatement, type Sql, startSweep } from '@agent-service/store';
import { createBatcher, createSlowTenants } from '@agent-service/work';
import type { AgentsBase } from '../base.ts';
import { type Acceptance, createAcceptance } from './acceptance.ts';
import { failAnswersOfAgent, failRestOfAgent } from './agent-deletion.ts';
import { createAnnouncer } from './announcer.ts';
import { createBackground } from './background.ts';
import { type Beginning, createBeginning } from './beginning.ts';
import { type Cancelled, cancelAnswer } from './cancelling.ts';
import { createCompletion, type EndRefusal } from './completion.ts';
import { createDispatcher } from './dispatcher.ts';
import { createEnder, type Ender } from './ender.ts';
import { type FailedAttempt, failAttempts } from './failing.ts';
import { createAnswerJobs } from './jobs.ts';
import { type AnswerKey, type AttemptKey, byKey, nameOf, type TenantKey } from './key.ts';
import { isolation } from './lanes.ts';
import { createAnswerMetrics } from './metrics.ts';
import type { Parts } from './parts.ts';
import { readWhole } from './reading.ts';
import { createReleases, type Releases } from './release.ts';
import type { RetryQueue } from './retry-queue.ts';
import { createSettling } from './settle.ts';
import { createSteadiness } from './steadiness.ts';
import type { Result, Settling } from './store/complete.ts';
import { createPartitions } from './store/partitions.ts';
import type { ReadRow } from './store/read.ts';
import { handBackAnswers, renewLeases, takeFromDead } from './store/renew.ts';
import {
  endOverdueHolds,
  forgetOldKeys,
  measure,
  moveOnDue,
  redispatchOrFail,
  removeStaleJobs,
  type SweepParts,
  takeUpReleases,
  takeUpSettlements,
} from './sweeps.ts';

/** The life of answers, from acceptance until they are paid for or given up. */
export interface Answers {
  readonly acceptance: Acceptance;
  readonly beginning: Beginning;
  renew(attempts: readonly AttemptKey[]): Promise<AttemptKey[]>;
  complete(result: Result): Promise<EndRefusal>;
  fail(attempts: readonly FailedAttempt[]): Promise<EndRefusal[]>;
  handBack(attempts: readonly AttemptKey[]): Promise<void>;
  /** The process that ran these attempts has died. */
  loseLeases(attempts: readonly AttemptKey[]): Promise<void>;
  /** Ends an answer of this user with this agent that has no result yet, within the transaction given. */
  cancel(transaction: { readonly sql: Sql }, key: AnswerKey, whose: { agentId: string; userId: string }): Promise<Cancelled | undefined>;
  read(keys: readonly (AnswerKey & { createdAt: number })[]): Promise<ReadRow[]>;
  /**
   * Ends what a deleted agent still had to answer, within the transaction that deletes it (after the agent's own row is locked).
   * What it answers with is to be called after the commit: it tells everybody, releases the holds and ends what was too much for one go.
   */
  failAnswersOfAgent(transaction: { readonly sql: Sql }, tenant: TenantKey, agentId: string): Promise<() => void>;
}

const eachSecond = 1_000;
const eachHalfMinute = 30_000;
const eachMinute = 60_000;
const eachHour = 3_600_000;
const eachQuarterMinute = 15_000;
/** Of the process's connections, as many as slow tenants may keep busy. */
const batchesOfSlow = 3;
const leasesABatch = 1_000;

export async function createAnswers(process: ProcessContext, base: AgentsBase): Promise<Answers> {
  const { answers, parts } = composeAnswers(process, base);
  await keepPartitions(process, base);
  startAnswerSweeps(parts);
  return answers;
}

/** What is composed of what, without anything that runs by itself. */
export function composeAnswers(process: ProcessContext, base: AgentsBase): { answers: Answers; parts: SweepParts } {
  const background = createBackground(process);
  const metrics = createAnswerMetrics(process);
  const jobs = createAnswerJobs(base, background);
  const announcer = createAnnouncer(process, base, metrics);
  const slowTenants = createSlowTenants({ permits: batchesOfSlow });
  const parts: Parts = { ...base, process, background, metrics, jobs, announcer, slowTenants };
  const dispatcher = createDispatcher(parts);
  const releases = createReleases(parts);
  const ender = createEnder(parts, dispatcher, releases);
  const settling = createSettling(parts, dispatcher, ender);
  const answers = { ...forWorkers(parts, ender, settling), ...forCallers(parts, ender, releases) };
  return { answers, parts: { ...parts, dispatcher, releases, ender, settling, steadiness: createSteadiness() } };
}

function forCallers(parts: Parts, ender: Ender, releases: Releases) {
  const { store, background } = parts;
  return {
    acceptance: createAcceptance(parts, releases),
    cancel: ({ sql }: { readonly sql: Sql }, key: AnswerKey, whose: { agentId: string; userId: string }) =>
      cancelAnswer(sql, ender, key, whose),
    read: (keys: readonly (AnswerKey & { createdAt: number })[]) => readWhole(store.sql, keys),
    async failAnswersOfAgent({ sql }: { readonly sql: Sql }, { organizationId, environment }: TenantKey, agentId: string) {
      const agent = { organizationId, environment, agentId };
      const { committed } = await failAnswersOfAgent(ender, sql, agent);
      return () => {
        committed();
        background.run('ending the answers of a deleted agent', () => failRestOfAgent(ender, store.sql, agent));
      };
    },
  };
}

function forWorkers(parts: Parts, ender: Ender, settling: RetryQueue<Settling>) {
  const { store, metrics, jobs, now } = parts;
  const completion = createCompletion(parts, settling);
  const renewals = createBatcher<AttemptKey, boolean>({ run: renew, maxItems: leasesABatch, ...isolation<AttemptKey>(parts) });
  const returns = createBatcher<AttemptKey, void>({ run: handBack, maxItems: leasesABatch, ...isolation<AttemptKey>(parts) });

  const losses = createBatcher<AttemptKey, void>({ run: loseLeases, maxItems: leasesABatch, ...isolation<AttemptKey>(parts) });

  async function loseLeases(attempts: AttemptKey[]): Promise<undefined[]> {
    await redispatchOrFail({ ...parts, ender }, await takeFromDead(store.sql, attempts, now()));
    return attempts.map(() => undefined);
  }

  async function renew(attempts: AttemptKey[]): Promise<boolean[]> {
    const kept = byKey(await renewLeases(store.sql, attempts, now()));
    return attempts.map((attempt) => kept.get(nameOf(attempt))?.attempt === attempt.attempt);
  }

  async function handBack(attempts: AttemptKey[]): Promise<undefined[]> {
    const again = await handBackAnswers(store.sql, attempts, now());
    if (again.length > 0) metrics.redispatched('returned', again.length);
    jobs.add(again);
    return attempts.map(() => undefined);
  }

  return {
    beginning: createBeginning(parts, ender),
    async renew(attempts: readonly AttemptKey[]) {
      const outcomes = await Promise.allSettled(attempts.map((attempt) => renewals.add(attempt)));
      const away = outcomes.find((outcome) => outcome.status === 'rejected' && judgeStatement(outcome.reason) === 'all');
      if (away?.status === 'rejected') throw away.reason;
      // A lease that could not be renewed for a lock is not lost: the worker asks again.
      return attempts.filter((_, index) => outcomes[index]?.status === 'rejected' || outcomes[index]?.value);
    },
    complete: (result: Result) => completion.add(result),
    fail: (attempts: readonly FailedAttempt[]) => failAttempts(parts, ender, attempts),
    async handBack(attempts: readonly AttemptKey[]) {
      await Promise.all(attempts.map((attempt) => returns.add(attempt)));
    },
    async loseLeases(attempts: readonly AttemptKey[]) {
      await Promise.all(attempts.map((attempt) => losses.add(attempt)));
    },
  };
}

async function keepPartitions(process: ProcessContext, { store, now }: AgentsBase): Promise<void> {
  const partitions = createPartitions(store);
  await partitions.ensure(now());
  startSweep(process, 'message partitions', eachHour, () => partitions.ensure(now()).then(() => 0));
}

/** Every replica sweeps; what one is at, the others skip. */
function startAnswerSweeps(parts: SweepParts): void {
  const { process, steadiness, dispatcher } = parts;
  const steady = async (step: () => Promise<number>): Promise<number> => {
    try {
      const done = await step();
      steadiness.kept();
      return done;
    } catch (cause) {
      steadiness.broken();
      throw cause;
    }
  };
  startSweep(process, 'pending releases', eachSecond, () => steady(() => takeUpReleases(parts)));
  startSweep(process, 'pending settlements', eachSecond, () => takeUpSettlements(parts));
  startSweep(process, 'due answers', eachSecond, () => moveOnDue(parts));
  startSweep(process, 'waiting answers', eachSecond, () => dispatcher.closeMissed().then(() => 0));
  startSweep(process, 'stale jobs', eachMinute, removeStaleJobs(parts));
  startSweep(process, 'overdue holds', eachHalfMinute, () => endOverdueHolds(parts).then(() => 0));
  startSweep(process, 'answer keys', eachMinute, () => forgetOldKeys(parts));
  startSweep(process, 'answer counts', eachQuarterMinute, () => measure(parts).then(() => 0));
}
