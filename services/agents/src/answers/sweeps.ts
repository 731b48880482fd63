import { detached } from './detached.ts';
import type { Dispatcher } from './dispatcher.ts';
import { doubtfulMs, keyKeptMs, mostLostLeases, steadyMs } from './domain/times.ts';
import { type Ender, type Failure, failed, failureOf } from './ender.ts';
import { type AnswerKey, checkEnvironment } from './key.ts';
import type { Parts } from './parts.ts';
import type { Releases } from './release.ts';
import type { RetryQueue } from './retry-queue.ts';
import type { Steadiness } from './steadiness.ts';
import { type Settling, takeUpSettling } from './store/complete.ts';
import { findStaleJobs, redispatchUnbegun, takeExpired, takeOverdue, takeUnbegun, type Unbegun } from './store/due.ts';
import { takeUpReleasing } from './store/holds.ts';
import { removeOldKeys } from './store/load.ts';
import { countLines } from './store/read.ts';
import type { LostLease } from './store/renew.ts';

const atOnce = 1_000;
/** These come with all that they say, so that few are in memory. */
const settlingAtOnce = 50;
/** Pages that a sweep takes before it pauses, where it could add nothing of them. */
const mostPages = 20;
const holdsAPage = 500;
const listLimitMs = 5_000;

/** To one who still waits the code promises an answer; this one will not come. */
const tooLate = { code: 'answer_timeout', message: 'The answer took longer than it may. No credits were charged.' };

export interface SweepParts extends Parts {
  readonly dispatcher: Dispatcher;
  readonly ender: Ender;
  readonly settling: RetryQueue<Settling>;
  readonly releases: Releases;
  readonly steadiness: Steadiness;
}

/** Retries releases whose process did not finish them in time. */
export const takeUpReleases = ({ store, releases, now }: SweepParts): Promise<number> =>
  retryPending(releases.queue, atOnce, () => takeUpReleasing(store.sql, atOnce, now()));

/** Retries settlements whose process did not finish them in time: after an outage as fast as credits takes them, with few in memory. */
export const takeUpSettlements = ({ store, settling, now }: SweepParts): Promise<number> =>
  retryPending(settling, settlingAtOnce, () => takeUpSettling(store.sql, settlingAtOnce, now()));

/** Passes over the items of tenants whose work is stuck, which are due again later, to those of other tenants. */
async function retryPending<Item extends AnswerKey>(queue: RetryQueue<Item>, page: number, take: () => Promise<Item[]>): Promise<number> {
  for (let pages = 0; pages < mostPages; pages += 1) {
    await queue.whenRoom();
    const items = await take();
    const taken = queue.addFound(items);
    if (items.length < page || taken > 0) return full(items, page);
  }
  return 0;
}

/** Ends what is past its deadline, and gives another job to what has lost its worker or its job. */
export async function moveOnDue(parts: SweepParts): Promise<number> {
  const { store, now, steadiness } = parts;
  // After an outage of this process or its database, workers renew their leases first.
  const lost = steadiness.lastsFor(steadyMs) ? await takeExpired(store.sql, atOnce, now()) : [];
  await redispatchOrFail(parts, lost, 'lease');
  const overdue = [await endOverdue(parts, 'running'), await endOverdue(parts, 'waiting')];
  const unbegun = await takeUnbegun(store.sql, atOnce, now());
  await endAll(
    parts,
    unbegun.filter(({ overdue }) => overdue),
    tooLate,
  );
  await redispatchOrFail(
    parts,
    unbegun.filter((row) => !row.overdue && row.lostLeases >= mostLostLeases),
    'lease',
  );
  await lookForJobs(
    parts,
    unbegun.filter((row) => !row.overdue && row.lostLeases < mostLostLeases),
  );
  return Math.max(full(lost), ...overdue, full(unbegun));
}

async function endOverdue(parts: SweepParts, state: 'waiting' | 'running'): Promise<number> {
  const overdue = await takeOverdue(parts.store.sql, state, atOnce, parts.now());
  await endAll(parts, overdue, tooLate);
  return full(overdue);
}

const endAll = ({ ender }: Pick<SweepParts, 'ender'>, answers: readonly AnswerKey[], failure: Failure) =>
  ender.end(answers.map((key) => failed(key, failure)));

/** Gives answers that have lost a lease another job, in a process apart from the worker's; those that have lost too many fail. */
export async function redispatchOrFail(
  parts: Pick<SweepParts, 'ender' | 'jobs' | 'metrics'>,
  answers: readonly LostLease[],
  reason: 'lease' | 'died' = 'died',
): Promise<void> {
  const again = answers.filter(({ lostLeases }) => lostLeases < mostLostLeases);
  if (again.length > 0) parts.metrics.redispatched(reason, again.length);
  parts.jobs.add(again);
  await endAll(
    parts,
    answers.filter(({ lostLeases }) => lostLeases >= mostLostLeases),
    failureOf('answer_abandoned'),
  );
}

/** Jobs that no worker has begun may be lost with the Redis that held them, or with the worker that took them. */
async function lookForJobs(parts: SweepParts, rows: readonly Unbegun[]): Promise<void> {
  if (rows.length === 0) return;
  const known = await parts.jobs.known(rows);
  const waiting = rows.filter((_, index) => known[index]);
  parts.jobs.prioritize(waiting.filter(({ raised }) => raised));
  const doubtful = waiting.filter(({ dispatchedAt, dispatches }) => parts.now() - dispatchedAt >= doubtfulMs * dispatches);
  parts.jobs.removeFormer(await redispatch(parts, 'doubtful', doubtful));
  const lost = rows.filter((_, index) => !known[index]);
  await redispatch(parts, 'lost', lost);
}

async function redispatch({ store, jobs, metrics, now }: SweepParts, reason: 'lost' | 'doubtful', rows: readonly Unbegun[]) {
  const again = await redispatchUnbegun(store.sql, rows, now());
  if (again.length > 0) metrics.redispatched(reason, again.length);
  jobs.add(again);
  return again;
}

/** Removes jobs of answers that have ended or been dispatched again, a page of a queue at a time. */
export function removeStaleJobs({ store, jobs }: Pick<SweepParts, 'store' | 'jobs'>): () => Promise<number> {
  const pages = [false, true].map((apart) => ({ lane: { apart }, cursor: undefined as string | undefined }));
  return async () => {
    for (const page of pages) {
      const { jobs: listed, next } = await jobs.page(page.lane, page.cursor);
      page.cursor = next;
      const stale = listed.length === 0 ? [] : await findStaleJobs(store.sql, listed);
      jobs.remove(stale.map((job) => ({ ...job, ...page.lane })));
    }
    return pages.filter(({ cursor }) => cursor !== undefined).length;
  };
}

/** Holds that should have ended and that no answer here knows of are released. All others are moved on by what is due. */
export async function endOverdueHolds({ credits, releases }: SweepParts): Promise<void> {
  let cursor = '';
  do {
    const page = { limit: holdsAPage, cursor };
    const { holds, nextCursor } = await detached(listLimitMs, () => credits.listOverdueHolds({ page }));
    releases.disown(
      holds.flatMap(({ tenant, holdId }) =>
        tenant ? [{ organizationId: tenant.organizationId, environment: checkEnvironment(tenant.environment), id: holdId }] : [],
      ),
    );
    cursor = nextCursor;
  } while (cursor !== '');
}

export const forgetOldKeys = ({ store, now }: SweepParts): Promise<number> => removeOldKeys(store.sql, now() - keyKeptMs);

export async function measure({ store, metrics }: SweepParts): Promise<void> {
  metrics.standing(await countLines(store.sql));
}

/** A full step is followed by the next at once. */
const full = (rows: readonly unknown[], most = atOnce): number => (rows.length >= most ? rows.length : 0);
