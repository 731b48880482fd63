import { callDetached, checkEnvironment, overdueAnswerMessage } from '@agent-service/contracts';
import { createMonthPartitions, type Partitions, type Store, startSweep } from '@agent-service/store';
import { type HealthTracker, type RetryQueue, redispatchUnbegunWork, retryDue } from '@agent-service/work';
import { type AnswerKey, doubtfulMs, leaseGraceMs, maxLostLeases } from '../shared/answer.ts';
import { failAbandoned, redispatchOrFail } from './attempts.ts';
import type { AnswersDeps } from './deps.ts';
import type { Dispatcher } from './dispatch.ts';
import { type EndAnswers, type Releases, toFailedEnd } from './end.ts';
import { removeExpiredKeys } from './store/accept.ts';
import {
  type DueWork,
  findDueWork,
  findStaleJobs,
  type OverdueState,
  redispatchUnbegun,
  takeExpired,
  takeOverdue,
  takeUnbegun,
  type UnbegunRow,
} from './store/dispatch.ts';
import { type Settlement, takeDueReleases, takeDueSettlements } from './store/end.ts';
import { countAnswers } from './store/read.ts';

const pageRows = 1_000;
/** Settlements have the content of their answers, so a page is small. */
const pageSettlements = 50;
const pageHolds = 500;
const listLimitMs = 5_000;

const overdueFailure = { code: 'answer_timeout', message: overdueAnswerMessage };

export interface SweepDeps extends AnswersDeps {
  readonly dispatcher: Dispatcher;
  readonly endAnswers: EndAnswers;
  readonly settlements: RetryQueue<Settlement>;
  readonly releases: Releases;
  readonly health: HealthTracker;
}

/** The number of rows of a full page, after which the sweep runs again at once; 0 for any other page. */
const countIfFull = (rows: readonly unknown[]): number => (rows.length >= pageRows ? rows.length : 0);

/** Retries releases that their process has not finished in time. A process that does not reach credits would only delay them. */
export const retryReleases = async ({ store, credits, releases, now }: SweepDeps): Promise<number> =>
  credits.isReachable() ? await retryDue(releases.queue, pageRows, () => takeDueReleases(store.sql, pageRows, now())) : 0;

/** Retries settlements that their process has not finished in time. */
export const retrySettlements = async ({ store, credits, settlements, now }: SweepDeps): Promise<number> =>
  credits.isReachable() ? await retryDue(settlements, pageSettlements, () => takeDueSettlements(store.sql, pageSettlements, now())) : 0;

/** Ends answers past their deadline, and gives another job to those that have lost their worker or their job. */
export async function processDue(deps: SweepDeps): Promise<number> {
  const overdue = [await failOverdue(deps, 'running'), await failOverdue(deps, 'waiting')];
  // A process without Redis can neither check jobs nor add them, and would keep the answers from one that can.
  if (!deps.jobs.isConnected) return Math.max(...overdue, await failOverdue(deps, 'dispatched'));
  return Math.max(...overdue, await processExpired(deps), await processUnbegun(deps));
}

async function processExpired(deps: SweepDeps): Promise<number> {
  // After an outage of this process or its database, workers first get time to renew their leases.
  if (!deps.health.isHealthyFor(leaseGraceMs)) return 0;
  const expired = await takeExpired(deps.store.sql, pageRows, deps.now());
  await redispatchOrFail(deps, deps.endAnswers, expired, 'lease');
  return countIfFull(expired);
}

async function processUnbegun(deps: SweepDeps): Promise<number> {
  const unbegun = await takeUnbegun(deps.store.sql, pageRows, deps.now());
  await failAll(
    deps,
    unbegun.filter((row) => row.overdue),
  );
  const inTime = unbegun.filter((row) => !row.overdue);
  // The process that took the last lease of these died before it failed them, or their row was locked.
  await failAbandoned(
    deps.endAnswers,
    inTime.filter(({ lostLeases }) => lostLeases >= maxLostLeases),
  );
  await checkJobs(
    deps,
    inTime.filter(({ lostLeases }) => lostLeases < maxLostLeases),
  );
  return countIfFull(unbegun);
}

async function failOverdue(deps: SweepDeps, state: OverdueState): Promise<number> {
  const overdue = await takeOverdue(deps.store.sql, state, pageRows, deps.now());
  await failAll(deps, overdue);
  return countIfFull(overdue);
}

async function failAll({ endAnswers }: SweepDeps, keys: readonly AnswerKey[]): Promise<void> {
  await endAnswers.end(keys.map((key) => toFailedEnd(key, overdueFailure)));
}

const checkJobs = ({ store, jobs, metrics, now }: SweepDeps, rows: readonly UnbegunRow[]): Promise<void> =>
  redispatchUnbegunWork(rows, {
    isKnown: jobs.known,
    // Each dispatch is given as much time as the first, and a job that no worker has taken keeps its place in the queue.
    async findDoubtful(known) {
      const late = known.filter(({ dispatchedAt, dispatches }) => now() - dispatchedAt >= doubtfulMs * dispatches);
      const waiting = await jobs.waiting(late);
      return late.filter((_, index) => !waiting[index]);
    },
    onKnown: (known) => jobs.prioritize(known.filter(({ raised }) => raised)),
    async redispatch(reason, some) {
      const redispatched = await redispatchUnbegun(store.sql, some, now());
      if (redispatched.length > 0) metrics.countRedispatches(reason, redispatched.length);
      jobs.add(redispatched);
      if (reason === 'doubtful') jobs.removePrevious(redispatched);
    },
  });

/** Removes jobs of answers that have ended or been dispatched again, one page of each queue at a time. */
export function removeStaleJobs({ store, jobs }: Pick<SweepDeps, 'store' | 'jobs'>): () => Promise<number> {
  const queues = [false, true].map((apart) => ({ queue: { apart }, cursor: undefined as string | undefined }));
  return async () => {
    for (const each of queues) {
      const { jobs: listed, next } = await jobs.list(each.queue, each.cursor);
      each.cursor = next;
      const stale = listed.length === 0 ? [] : await findStaleJobs(store.sql, listed);
      jobs.remove(stale.map((job) => ({ ...job, ...each.queue })));
    }
    return queues.filter(({ cursor }) => cursor !== undefined).length;
  };
}

/** Releases overdue holds that belong to no answer, one page at a time. The holds of answers end with them. */
export function releaseOverdueHolds({ credits, releases }: Pick<SweepDeps, 'credits' | 'releases'>): () => Promise<number> {
  let cursor = '';
  return async () => {
    await releases.queue.whenRoom();
    const page = { limit: pageHolds, cursor };
    // A failure begins with the first page again: credits may not take the cursor any more.
    cursor = '';
    const { holds, nextCursor } = await callDetached(listLimitMs, () => credits.listOverdueHolds({ page }));
    await releases.releaseOverdue(
      holds.flatMap(({ tenant, holdId }) =>
        tenant ? [{ organizationId: tenant.organizationId, environment: checkEnvironment(tenant.environment), id: holdId }] : [],
      ),
    );
    cursor = nextCursor;
    return cursor === '' ? 0 : holds.length;
  };
}

/** Also for the month before: at the start of a month there are still answers that were accepted in it. */
export const createMessagePartitions = (store: Store): Partitions => createMonthPartitions(store, 'messages', { before: 1, after: 1 });

const second = 1_000;
const minute = 60_000;

/** Every replica sweeps; `skip locked` lets replicas share the rows. */
export async function startAnswerSweeps(deps: SweepDeps): Promise<void> {
  const { process, store, dispatcher, metrics, now } = deps;
  const partitions = createMessagePartitions(store);
  await partitions.ensure(now());
  // A machine may sleep past the last partition. No message is accepted then until this sweep has made the next one.
  startSweep(process, 'message partitions', second, () => partitions.ensure(now()).then(() => 0));
  const findShared = shareResult(() => findAndReport(deps));
  const sweepWhereDue = (name: string, isDue: (due: DueWork) => boolean, step: () => Promise<number>) =>
    startSweep(process, name, second, async () => (isDue(await findShared()) ? step() : 0));
  sweepWhereDue(
    'pending releases',
    ({ releasing }) => releasing,
    () => retryReleases(deps),
  );
  sweepWhereDue(
    'pending settlements',
    ({ settling }) => settling,
    () => retrySettlements(deps),
  );
  sweepWhereDue(
    'due answers',
    ({ waiting, dispatched, running }) => waiting || dispatched || running,
    () => processDue(deps),
  );
  sweepWhereDue(
    'waiting answers',
    ({ heldUp }) => heldUp,
    () => dispatcher.dispatchMissed().then(() => 0),
  );
  startSweep(process, 'stale jobs', minute, removeStaleJobs(deps));
  startSweep(process, 'overdue holds', minute / 2, releaseOverdueHolds(deps));
  startSweep(process, 'answer keys', minute, () => removeExpiredKeys(store.sql, now()));
  startSweep(process, 'answer counts', minute / 4, async () => {
    metrics.setCounts(await countAnswers(store.sql));
    return 0;
  });
}

/** Finds what is due. A query that succeeds shows that this process is awake and its database available. */
async function findAndReport({ store, limits, now, health }: SweepDeps): Promise<DueWork> {
  try {
    const due = await findDueWork(store.sql, limits.inFlight, now());
    health.success();
    return due;
  } catch (cause) {
    health.failure();
    throw cause;
  }
}

const sharedForMs = 500;

/** Calls within half a second share one run and its result. */
export function shareResult<Result>(run: () => Promise<Result>, elapsed = () => performance.now()): () => Promise<Result> {
  let latest: Promise<Result> | undefined;
  let ranAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (latest && elapsed() - ranAt < sharedForMs) return latest;
    ranAt = elapsed();
    latest = run();
    return latest;
  };
}
