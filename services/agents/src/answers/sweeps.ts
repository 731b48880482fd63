import { doubtfulMs, keyKeptMs, steadyMs } from '../domain/answers/times.ts';
import { detached } from './detached.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Duty } from './duty.ts';
import { type Ender, failed } from './ender.ts';
import { checkEnvironment } from './key.ts';
import type { Parts } from './parts.ts';
import type { Releases } from './release.ts';
import type { Steadiness } from './steadiness.ts';
import { type Settling, takeUpSettling } from './store/complete.ts';
import { raiseAged } from './store/dispatch.ts';
import { type DueRow, leaveWaiting, loadDue, redispatchDue } from './store/due.ts';
import { takeUpReleasing } from './store/holds.ts';
import { removeOldKeys } from './store/load.ts';
import { countLines } from './store/read.ts';

const atOnce = 500;
const mostInHand = 2_000;
/** These come with all that they say, so that few are in memory. */
const settlingAtOnce = 50;
const mostSettling = 200;
const holdsAPage = 500;
const listLimitMs = 5_000;

/** To one who still waits the code promises an answer; this one will not come. */
const tooLate = { code: 'answer_timeout', message: 'The answer took longer than it may. No credits were charged.' };

export interface SweepParts extends Parts {
  readonly dispatcher: Dispatcher;
  readonly ender: Ender;
  readonly settling: Duty<Settling>;
  readonly releases: Releases;
  readonly steadiness: Steadiness;
}

/** Takes up what others owed and did not see to in time. */
export async function takeUpDuties({ store, settling, releases, now }: SweepParts): Promise<number> {
  const settled = settling.inHand < mostSettling ? await takeUpSettling(store.sql, settlingAtOnce, now()) : [];
  settling.add(settled);
  const released = releases.duty.inHand < mostInHand ? await takeUpReleasing(store.sql, atOnce, now()) : [];
  releases.duty.add(released);
  return full(settled, settlingAtOnce) + full(released);
}

/** Ends what is past its deadline, and gives another job to what has lost its worker or its job. */
export async function moveOnDue(parts: SweepParts): Promise<number> {
  const due = await loadDue(parts.store.sql, atOnce, parts.now());
  const overdue = due.filter(({ overdue }) => overdue);
  await parts.ender.end(overdue.map((row) => failed(row, tooLate)));
  const inTime = due.filter((row) => !row.overdue);
  await redispatch(parts, 'lease', parts.steadiness.lastsFor(steadyMs) ? inTime.filter(({ state }) => state === 'running') : []);
  await lookForJobs(
    parts,
    inTime.filter(({ state }) => state === 'dispatched'),
  );
  return full(overdue);
}

/** Jobs that nobody has begun may be lost with the Redis that held them, or with the worker that took them. */
async function lookForJobs(parts: SweepParts, rows: readonly DueRow[]): Promise<void> {
  if (rows.length === 0) return;
  const known = await parts.jobs.known(rows);
  const doubtful = rows.filter((row, index) => known[index] && parts.now() - row.dispatchedAt >= doubtfulMs * row.dispatches);
  parts.jobs.removeFormer(await redispatch(parts, 'doubtful', doubtful));
  await redispatch(
    parts,
    'lost',
    rows.filter((_, index) => !known[index]),
  );
  await leaveWaiting(
    parts.store.sql,
    rows.filter((row, index) => known[index] && !doubtful.includes(row)),
    parts.now(),
  );
}

async function redispatch({ store, jobs, metrics, now }: SweepParts, reason: 'lease' | 'lost' | 'doubtful', rows: readonly DueRow[]) {
  const again = await redispatchDue(store.sql, rows, now());
  if (again.length > 0) metrics.redispatched(reason, again.length);
  jobs.add(again);
  return again;
}

/** Gives what has waited long among the dispatched the rank of its age. */
export async function raise({ store, jobs, now }: SweepParts): Promise<number> {
  const risen = await raiseAged(store.sql, atOnce, now());
  jobs.prioritize(risen);
  return full(risen);
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
