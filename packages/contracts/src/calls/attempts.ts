import { ServiceError } from '../errors/service-error.ts';
import type { Replica, ReplicaSet } from './replicas.ts';

/** A replica that has answered no call for this long is asked for its health. */
const checkAfterMs = 150;
/** After this long without any answer it counts as silent, and the call is sent to another replica as well. */
const silentAfterMs = 300;
/** A replica that answers other calls, but not this one, may only be busy: another is asked after this time. */
const slowAfterMs = 1_000;
const maxAttempts = 3;
/** Together longer than a channel waits before it connects again: where replicas restart one after the other, one of them is reached then. */
const retryPausesMs = [50, 150, 400];

/** Calls may be duplicated for a replica's slowness no more often than one in ten, and 50 at once. */
const budgetSize = 50;
const budgetPerCall = 0.1;

export type Done = (error: ServiceError | null, response?: object) => void;

export interface OutgoingCall {
  /** Sends it to one replica. `done` is called once; cancelling calls it as well. */
  readonly send: (replica: Replica, done: Done) => { cancel(): void };
  readonly replicas: ReplicaSet;
  readonly budget: DuplicateBudget;
  /** By the monotonic clock. */
  readonly expiresAt: number;
  readonly signal: AbortSignal | undefined;
  /** The target of the only replica that the call may be sent to. */
  readonly target?: string | undefined;
}

/** Keeps slow replicas from doubling the load that makes them slow. */
export class DuplicateBudget {
  #left = budgetSize;

  earn(): void {
    this.#left = Math.min(budgetSize, this.#left + budgetPerCall);
  }

  spend(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/**
 * Sends a call to one replica, once. Another replica gets it only where no connection to the first could be opened: that one cannot run it,
 * as when it has just stopped.
 */
export async function callOnce(call: OutgoingCall): Promise<object> {
  const { replicas, target } = call;
  if (!replicas.isStarted) await replicas.start();
  return await begin(call, target === undefined ? pickReplica(replicas) : findReplica(replicas, target), false);
}

/** True where gRPC found no connection for the call, so that not even its first byte was sent. */
function isUnsent({ cause }: ServiceError): boolean {
  const details = (cause as { details?: unknown } | undefined)?.details;
  return typeof details === 'string' && details.startsWith('No connection established');
}

/**
 * Sends an idempotent call to one replica, and to another when the first fails to serve or gives no answer in time. The first
 * answer counts and cancels the rest.
 */
export async function callWithFailover(call: OutgoingCall): Promise<object> {
  if (!call.replicas.isStarted) await call.replicas.start();
  return await begin(call, pickReplica(call.replicas), true);
}

async function begin(call: OutgoingCall, replica: Replica, isRepeatable: boolean): Promise<object> {
  if (call.signal?.aborted) throw new ServiceError('cancelled');
  return await new Promise((resolve, reject) => {
    new RoutedCall(call, isRepeatable, (error, response) => (error ? reject(error) : resolve(response as object))).start(replica);
  });
}

function pickReplica(replicas: ReplicaSet): Replica {
  const replica = replicas.pick();
  if (!replica) throw new ServiceError('unavailable', { cause: new Error('every replica has as many calls in flight as it may') });
  return replica;
}

function findReplica(replicas: ReplicaSet, target: string): Replica {
  const replica = replicas.find(target);
  if (!replica) throw new ServiceError('unavailable', { cause: new Error(`${target} is no longer a replica`) });
  return replica;
}

interface Attempt {
  readonly replica: Replica;
  readonly sentAt: number;
  cancel(): void;
}

class RoutedCall {
  readonly #call: OutgoingCall;
  readonly #isRepeatable: boolean;
  readonly #done: Done;
  readonly #tried: Replica[] = [];
  readonly #open = new Set<Attempt>();
  readonly #abort = () => this.#end(new ServiceError('cancelled'));
  #attempts = 0;
  #timer: NodeJS.Timeout | undefined;
  #isListening = false;
  #ended = false;

  constructor(call: OutgoingCall, isRepeatable: boolean, done: Done) {
    this.#call = call;
    this.#isRepeatable = isRepeatable;
    this.#done = done;
  }

  start(replica: Replica): void {
    this.#attempts += 1;
    this.#tried.push(replica);
    const attempt: Attempt = { replica, sentAt: performance.now(), cancel: () => sent.cancel() };
    this.#open.add(attempt);
    const sent = this.#call.send(replica, (error, response) => {
      this.#open.delete(attempt);
      if (this.#ended) return;
      if (error) this.#failed(error);
      else this.#end(null, response);
    });
    if (this.#isRepeatable) this.#wait(attempt, checkAfterMs);
    else if (!this.#isListening && !this.#ended) this.#listen();
  }

  #wait(attempt: Attempt, afterMs: number): void {
    clearTimeout(this.#timer);
    const leftMs = Math.max(0, attempt.sentAt + afterMs - performance.now());
    this.#timer = setTimeout(() => this.#unanswered(attempt, afterMs), leftMs);
  }

  /** The last replica asked has not answered this call. */
  #unanswered(attempt: Attempt, afterMs: number): void {
    const { replica, sentAt } = attempt;
    const isHeard = replica.heardAt >= sentAt;
    if (!this.#isListening) this.#listen();
    if (this.#ended) return;
    if (afterMs === checkAfterMs) {
      if (!isHeard) void this.#call.replicas.check(replica);
      this.#wait(attempt, silentAfterMs);
    } else if (isHeard && afterMs < slowAfterMs) {
      this.#wait(attempt, slowAfterMs);
    } else {
      if (!isHeard && replica.state === 'serving') replica.state = 'silent';
      // Another replica may come back while this one is waited for.
      if (!this.#startAnother('answering', () => this.#call.budget.spend())) this.#wait(attempt, afterMs + slowAfterMs);
    }
  }

  /** For a call that may be repeated only once it is late: most end before, and a listener would cost each of them. */
  #listen(): void {
    this.#isListening = true;
    const { signal } = this.#call;
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener('abort', this.#abort, { once: true });
  }

  #failed(error: ServiceError): void {
    // The attempt that runs this very call still answers.
    if (error.code === 'idempotency_in_progress' && this.#open.size > 0) return;
    if (!this.#mayAnswerElsewhere(error)) this.#end(error);
    else if (!this.#startAnother('all', () => true) && this.#open.size === 0) this.#retryLater(error);
  }

  /** True if another replica may answer: this one is away, or the call reached it too late. */
  #mayAnswerElsewhere(error: ServiceError): boolean {
    const { target, expiresAt } = this.#call;
    if (!this.#isRepeatable) return target === undefined && isUnsent(error);
    return error.code === 'unavailable' || (error.code === 'deadline_exceeded' && performance.now() < expiresAt);
  }

  #startAnother(among: 'all' | 'answering', mayStart: () => boolean): boolean {
    const another = this.#attempts < maxAttempts ? this.#call.replicas.pickAnother(this.#tried, among) : undefined;
    if (!another || !mayStart()) return false;
    this.start(another);
    return true;
  }

  /** No replica could answer: after a pause the call is sent to any of them again. */
  #retryLater(error: ServiceError): void {
    clearTimeout(this.#timer);
    const pauseMs = retryPausesMs[this.#attempts - 1];
    if (pauseMs === undefined || performance.now() + pauseMs >= this.#call.expiresAt) this.#end(error);
    else this.#timer = setTimeout(() => this.#retry(error), pauseMs);
  }

  #retry(error: ServiceError): void {
    const replica = this.#call.replicas.pickAnother([], 'all');
    if (replica) this.start(replica);
    else this.#end(error);
  }

  #end(error: ServiceError | null, response?: object): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    if (this.#isListening) this.#call.signal?.removeEventListener('abort', this.#abort);
    for (const attempt of this.#open) attempt.cancel();
    if (!error && this.#isRepeatable) this.#call.budget.earn();
    this.#done(error, response);
  }
}
