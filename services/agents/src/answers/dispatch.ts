import type { Tenant } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { createBatcher, tenantName } from '@agent-service/work';
import { type AttemptKey, nameOf } from '../shared/answer.ts';
import { type AnswersDeps, batchOptions } from './deps.ts';
import type { DispatchAfterEnds } from './end.ts';
import { type DispatchedRow, dispatchNext, findHeldUpTenants, type HeldUpTenant } from './store/dispatch.ts';
import { type AttemptInput, loadHistories, type Turn } from './store/sql.ts';

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
   * Begins as many answers as workers wait for; the others need jobs. If the outcome of the statement is unknown, attempts may have begun that
   * no worker knows of: their leases expire.
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

/** An attempt that was begun for a worker, with everything that the worker needs. */
export interface Assignment {
  readonly input: AttemptInput;
  readonly history: readonly Turn[];
}

/** A worker's offer to take answers without a job. */
export interface Offer {
  /** Also names the worker. */
  readonly workerChannel: string;
  /** The most answers that the offer takes. */
  readonly capacity: number;
  /** Answers that this worker got by earlier offers. */
  readonly receivedIds: readonly string[];
  /** The worker takes no more answers. */
  readonly stopping: boolean;
}

/** Capacity of a worker for one answer. It has to be used or released. */
export interface Reservation {
  readonly workerChannel: string;
  /** Sends the worker an attempt that was begun for it. The attempt is taken back if the worker does not confirm it. */
  assign(assignment: Assignment): void;
  release(): void;
}

interface WaitingWorkersOptions {
  readonly takeBack: (attempts: readonly AttemptKey[]) => void;
}

/** A call of a worker waits for at most 10 seconds, so that a worker that has gone is noticed by then. */
const waitMs = 10_000;
const checkMs = 500;
/** An attempt is taken back after this many checks without a confirmation. Counted and not timed: this process may have been frozen. */
const maxChecks = 4;
/** Characters of the texts of a response: at most 2 MB, and a larger answer goes alone. */
const maxCharacters = 512 * 1024;

interface Wait {
  capacity: number;
  respond(assignments: readonly Assignment[]): void;
}

interface Worker {
  readonly channel: string;
  readonly waits: Wait[];
  reserved: number;
  /** Assignments without a wait that could take them; the worker's next wait does. */
  unsent: Assignment[];
  isStopping: boolean;
}

interface Unconfirmed {
  readonly attempt: AttemptKey;
  checks: number;
}

/**
 * Workers that wait at this process for answers. A worker waits with a few calls at a time, and each response uses one of them up. So a
 * frozen worker gets a few answers at most, which are taken back within two seconds and get jobs; a healthy worker confirms its answers with
 * its next call.
 */
export class WaitingWorkers {
  readonly #stopping: AbortSignal;
  readonly #takeBack: WaitingWorkersOptions['takeBack'];
  readonly #workers = new Map<string, Worker>();
  readonly #unconfirmed = new Map<string, Unconfirmed>();
  #check: NodeJS.Timeout | undefined;

  constructor(process: Pick<ProcessContext, 'stopping' | 'onStop'>, { takeBack }: WaitingWorkersOptions) {
    this.#stopping = process.stopping;
    this.#takeBack = takeBack;
    process.stopping.addEventListener('abort', () => this.#stop(), { once: true });
    process.onStop('confirmations of workers', async () => clearTimeout(this.#check));
  }

  /** Waits until there are answers for the worker, or for some seconds. */
  wait({ workerChannel, capacity, receivedIds, stopping }: Offer, signal: AbortSignal): Promise<readonly Assignment[]> {
    for (const id of receivedIds) this.#unconfirmed.delete(`${workerChannel} ${id}`);
    const worker = this.#workers.get(workerChannel) ?? { channel: workerChannel, waits: [], reserved: 0, unsent: [], isStopping: false };
    if (stopping) this.#end(worker);
    if (capacity <= 0 || stopping || this.#stopping.aborted || signal.aborted) return Promise.resolve([]);
    this.#workers.set(workerChannel, worker);
    return new Promise((resolve) => {
      const end = () => wait.respond([]);
      const timer = setTimeout(end, waitMs);
      const wait: Wait = {
        capacity,
        respond: (assignments) => {
          clearTimeout(timer);
          signal.removeEventListener('abort', end);
          this.#removeWait(worker, wait);
          resolve(assignments);
        },
      };
      signal.addEventListener('abort', end, { once: true });
      worker.waits.push(wait);
      this.#send(worker);
    });
  }

  /** Takes back attempts that their workers have not got, and gives the answers jobs. */
  takeBack(attempts: readonly AttemptKey[]): void {
    if (attempts.length > 0) this.#takeBack(attempts);
  }

  /** Reserves capacity for that many answers, or for as many as there is capacity for. */
  reserve(answers: number): Reservation[] {
    const reservations: Reservation[] = [];
    while (reservations.length < answers) {
      const worker = this.#freest();
      if (!worker) break;
      worker.reserved += 1;
      reservations.push(this.#reservationOf(worker));
    }
    return reservations;
  }

  #freest(): Worker | undefined {
    let freest: Worker | undefined;
    let most = 0;
    for (const worker of this.#workers.values()) {
      const free = worker.waits.reduce((sum, { capacity }) => sum + capacity, 0) - worker.reserved - worker.unsent.length;
      if (free <= most) continue;
      freest = worker;
      most = free;
    }
    return freest;
  }

  #reservationOf(worker: Worker): Reservation {
    return {
      workerChannel: worker.channel,
      assign: (assignment) => {
        worker.reserved -= 1;
        const attempt = attemptOf(assignment);
        if (worker.isStopping) {
          this.#takeBack([attempt]);
          this.#forgetIdle(worker);
          return;
        }
        this.#unconfirmed.set(`${worker.channel} ${attempt.id}`, { attempt, checks: 0 });
        this.#check ??= setTimeout(() => this.#checkConfirmations(), checkMs);
        worker.unsent.push(assignment);
        // A microtask later, so that answers of the same batch leave together.
        if (worker.unsent.length === 1) queueMicrotask(() => this.#send(worker));
      },
      release: () => {
        worker.reserved -= 1;
        this.#forgetIdle(worker);
      },
    };
  }

  #send(worker: Worker): void {
    while (worker.unsent.length > 0 && worker.waits.length > 0) {
      const wait = worker.waits[0] as Wait;
      wait.respond(worker.unsent.splice(0, countFitting(worker.unsent, wait.capacity)));
    }
  }

  #removeWait(worker: Worker, wait: Wait): void {
    const index = worker.waits.indexOf(wait);
    if (index >= 0) worker.waits.splice(index, 1);
    this.#forgetIdle(worker);
  }

  #forgetIdle(worker: Worker): void {
    if (worker.waits.length === 0 && worker.reserved === 0 && worker.unsent.length === 0) this.#workers.delete(worker.channel);
  }

  #stop(): void {
    for (const worker of this.#workers.values()) this.#end(worker);
  }

  /** Ends the waits of a worker that takes no more answers, or of this process. */
  #end(worker: Worker): void {
    worker.isStopping = true;
    for (const wait of [...worker.waits]) wait.respond([]);
    const attempts = worker.unsent.map(attemptOf);
    for (const { id } of attempts) this.#unconfirmed.delete(`${worker.channel} ${id}`);
    worker.unsent = [];
    if (attempts.length > 0) this.#takeBack(attempts);
    this.#forgetIdle(worker);
  }

  /** Takes back attempts that workers have not confirmed: the worker is frozen or dead, or its connection is broken. */
  #checkConfirmations(): void {
    const lost: AttemptKey[] = [];
    for (const [name, unconfirmed] of this.#unconfirmed) {
      unconfirmed.checks += 1;
      if (unconfirmed.checks < maxChecks) continue;
      lost.push(unconfirmed.attempt);
      this.#unconfirmed.delete(name);
    }
    this.#check = this.#unconfirmed.size > 0 ? setTimeout(() => this.#checkConfirmations(), checkMs) : undefined;
    if (lost.length === 0) return;
    const names = new Set(lost.map(nameOf));
    for (const worker of this.#workers.values()) {
      worker.unsent = worker.unsent.filter(({ input }) => !names.has(nameOf(input)));
      this.#forgetIdle(worker);
    }
    this.#takeBack(lost);
  }
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

const attemptOf = ({ input: { organizationId, environment, id, attempt } }: Assignment): AttemptKey => ({
  organizationId,
  environment,
  id,
  attempt,
});

/** How many of the assignments one response has room for. */
function countFitting(assignments: readonly Assignment[], capacity: number): number {
  let characters = 0;
  const end = assignments.findIndex((assignment, index) => {
    characters += charactersIn(assignment);
    return index >= capacity || (index > 0 && characters > maxCharacters);
  });
  return end < 0 ? assignments.length : end;
}

const charactersIn = ({ input, history }: Assignment): number =>
  input.message.length +
  input.contextJson.length +
  (input.systemPrompt?.length ?? 0) +
  input.tables.reduce((sum, table) => sum + table.length, 0) +
  history.reduce((sum, { content }) => sum + content.length, 0);
