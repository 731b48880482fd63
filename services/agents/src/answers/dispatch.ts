import type { Tenant } from '@agent-service/contracts';
import { createBatcher, tenantName } from '@agent-service/work';
import { nameOf } from '../shared/answer.ts';
import { type AnswersDeps, batchOptions } from './deps.ts';
import type { DispatchAfterEnds } from './end.ts';
import { type DispatchedRow, dispatchNext, findHeldUpTenants, type HeldUpTenant } from './store/dispatch.ts';
import { type AttemptInput, loadHistories } from './store/sql.ts';
import type { Reservation, WaitingWorkers } from './waiting-workers.ts';

/** Tenants of one statement. */
const maxTenants = 200;
/** Statements for answers that were accepted while the one before waited; a sweep dispatches those that are still missed. */
const maxRounds = 3;

/** Dispatches waiting answers as others end. */
export interface Dispatcher {
  readonly dispatchAfterEnds: DispatchAfterEnds;
  /** Dispatches what was missed; returns how many tenants it found. */
  dispatchMissed(): Promise<number>;
}

export function createDispatcher(deps: AnswersDeps, waitingWorkers: WaitingWorkers): Dispatcher {
  const { store, limits, jobs, background, now } = deps;
  const batcher = createBatcher<HeldUpTenant, void>({ run, maxItems: maxTenants, ...batchOptions<HeldUpTenant>(deps) });

  async function run(tenants: HeldUpTenant[]): Promise<undefined[]> {
    await dispatch(distinct(tenants));
    return tenants.map(() => undefined);
  }

  /** A statement that waited for a line does not see the answers that were accepted while it waited: it runs once more for those. */
  async function dispatch(tenants: readonly HeldUpTenant[], round = 1): Promise<void> {
    const rows = await dispatchForWorkers(tenants);
    jobs.add(rows.filter(({ state }) => state === 'dispatched'));
    const missed = rows.filter((row) => row.missed > 0).map((row) => ({ ...row, answers: row.missed }));
    if (missed.length > 0 && round < maxRounds) await dispatch(distinct(missed), round + 1);
  }

  /**
   * Begins as many answers as workers wait for; the others need jobs. Where the outcome of the statement is unknown, attempts may have begun
   * of which no worker knows: they lose their leases.
   */
  async function dispatchForWorkers(tenants: readonly HeldUpTenant[]): Promise<DispatchedRow[]> {
    const reserved = waitingWorkers.reserve(tenants.reduce((sum, { answers }) => sum + answers, 0));
    try {
      const workerChannels = reserved.map(({ workerChannel }) => workerChannel);
      const rows = await dispatchNext(store.sql, tenants, { inFlight: limits.inFlight, workerChannels }, now());
      const attempts = rows.flatMap((row) => {
        const index = reserved.findIndex(({ workerChannel }) => workerChannel === row.workerChannel);
        return row.state === 'running' && index >= 0 ? reserved.splice(index, 1).map((reservation) => ({ input: row, reservation })) : [];
      });
      sendAssignments(deps, waitingWorkers, attempts);
      return rows;
    } finally {
      for (const reservation of reserved) reservation.release();
    }
  }

  return {
    dispatchAfterEnds(ended) {
      const free = ended.map((row) => ({ ...row, answers: Math.min(row.waiting, limits.inFlight - row.inFlight) }));
      const heldUp = distinct(free.filter(({ answers }) => answers > 0));
      if (heldUp.length > 0) background.run('dispatching', () => Promise.all(heldUp.map((tenant) => batcher.add(tenant))));
    },
    async dispatchMissed() {
      const tenants = await findHeldUpTenants(store.sql, limits.inFlight, maxTenants);
      await Promise.all(tenants.map((tenant) => batcher.add(tenant)));
      return tenants.length;
    },
  };
}

/** Each tenant once, with the most answers that it is listed with. */
function distinct(tenants: readonly HeldUpTenant[]): HeldUpTenant[] {
  const mostOf = new Map<string, HeldUpTenant>();
  for (const { organizationId, environment, answers } of tenants) {
    const name = tenantName({ organizationId, environment } satisfies Tenant);
    const most = Math.max(answers, mostOf.get(name)?.answers ?? 0);
    mostOf.set(name, { organizationId, environment, answers: most });
  }
  return [...mostOf.values()];
}

/** An attempt that has begun for a worker, with the capacity that was reserved for it. */
interface ReservedAttempt {
  readonly input: AttemptInput;
  readonly reservation: Reservation;
}

/** Sends attempts to their workers: those that continue a conversation when its history is read, the others at once. */
export function sendAssignments(
  { store, metrics, background }: Pick<AnswersDeps, 'store' | 'metrics' | 'background'>,
  waitingWorkers: WaitingWorkers,
  attempts: readonly ReservedAttempt[],
): void {
  metrics.countAssignments(attempts.length);
  for (const { input, reservation } of attempts) if (!input.continues) reservation.assign({ input, history: [] });
  const continuing = attempts.filter(({ input }) => input.continues);
  if (continuing.length === 0) return;
  background.run('reading histories', async () => {
    const inputs = continuing.map(({ input }) => input);
    const histories = await loadHistories(store.sql, inputs).catch((cause: unknown) => {
      waitingWorkers.takeBack(inputs);
      for (const { reservation } of continuing) reservation.release();
      throw cause;
    });
    for (const { input, reservation } of continuing) reservation.assign({ input, history: histories.get(nameOf(input)) ?? [] });
  });
}
