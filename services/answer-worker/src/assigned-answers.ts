import { isAway, ServiceError } from '@agent-service/contracts';
import type { JobWorker } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import { sleep } from '@agent-service/work';
import type { AnswersApi, AssignedAnswer } from './answers-api.ts';

interface AssignedAnswersDeps {
  readonly answers: Pick<AnswersApi, 'replicas' | 'wait'>;
  /** The worker of the queue: answers of both ways share its concurrency, and stop in the same way. */
  readonly jobs: JobWorker;
  /** The most answers that this worker waits for at a time. */
  readonly capacity: number;
  /** It waits for none while it runs this many, so that jobs get the rest of its concurrency first. */
  readonly maxActive: number;
  readonly run: (assigned: AssignedAnswer, stopping: AbortSignal) => Promise<void>;
}

/** The most calls that wait at one replica: while the response of one is under way, the others can take answers. */
const maxWaits = 4;
const retryMs = 1_000;
/** Poll rarely: an older replica does not implement WaitForAnswers. */
const unsupportedMs = 30_000;
/** How often replicas and free capacity are checked, and confirmations sent again: well below the 2 s after which a replica takes an attempt back. */
const refreshEveryMs = 500;
/** How long a stop waits for replicas. One that serves replies at once; a frozen one takes back what is not confirmed. */
const stopMs = 1_000;

/** This worker's calls to one replica. */
interface ReplicaWaits {
  readonly replica: string;
  /** Only a replica that serves gets new waits. Answers may still come by the waits that it has, and are confirmed. */
  isServing: boolean;
  waits: number;
  /** Answers that the next call confirms. */
  received: string[];
  /** No call begins before this, by the monotonic clock. */
  pausedUntil: number;
}

/** Takes answers directly from the replicas of agents while this worker has much free capacity. All other answers come from the queue. */
export function takeAssignedAnswers(process: ProcessContext, deps: AssignedAnswersDeps): void {
  const taker = new AssignedAnswers(process, deps);
  taker.start();
}

class AssignedAnswers {
  readonly #process: ProcessContext;
  readonly #deps: AssignedAnswersDeps;
  readonly #replicas = new Map<string, ReplicaWaits>();
  readonly #calls = new Set<Promise<void>>();
  /** The capacity of all calls that wait. */
  #offered = 0;
  #running = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(process: ProcessContext, deps: AssignedAnswersDeps) {
    this.#process = process;
    this.#deps = deps;
  }

  start(): void {
    if (this.#deps.capacity === 0) return;
    this.#timer = setInterval(() => this.#refresh(), refreshEveryMs);
    this.#refresh();
    this.#process.onStop('waits for answers', () => this.#stop());
  }

  async #stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const waits of this.#replicas.values()) this.#call(waits, 0);
    const endsAt = performance.now() + stopMs;
    while (this.#calls.size > 0 && performance.now() < endsAt) {
      await Promise.race([Promise.all(this.#calls), sleep(endsAt - performance.now())]);
      for (const waits of this.#replicas.values()) if (waits.received.length > 0) this.#call(waits, 0);
    }
  }

  /** Notices replicas that were added or removed, and capacity that jobs have freed. */
  #refresh(): void {
    const targets = this.#deps.answers.replicas();
    for (const [replica, waits] of this.#replicas) {
      waits.isServing = targets.includes(replica);
      if (!waits.isServing && waits.waits === 0 && waits.received.length === 0) this.#replicas.delete(replica);
    }
    for (const replica of targets) {
      if (!this.#replicas.has(replica)) this.#replicas.set(replica, { replica, isServing: true, waits: 0, received: [], pausedUntil: 0 });
    }
    this.#offer();
  }

  #offer(): void {
    if (this.#process.stopping.aborted) return;
    const share = Math.max(1, Math.floor(this.#deps.capacity / Math.max(1, this.#replicas.size * maxWaits)));
    for (const waits of this.#replicas.values()) {
      while (waits.isServing && waits.pausedUntil <= performance.now() && waits.waits < maxWaits) {
        const capacity = Math.min(share, this.#room());
        if (capacity <= 0) break;
        this.#call(waits, capacity);
      }
      if (waits.received.length > 0) this.#call(waits, 0);
    }
  }

  #room(): number {
    const { capacity, maxActive, jobs } = this.#deps;
    return Math.min(capacity, maxActive - jobs.active) - this.#offered;
  }

  #call(waits: ReplicaWaits, capacity: number): void {
    const call = this.#wait(waits, capacity).finally(() => this.#calls.delete(call));
    this.#calls.add(call);
  }

  /** With a capacity of 0 the call only confirms answers. */
  async #wait(waits: ReplicaWaits, capacity: number): Promise<void> {
    const calledAt = performance.now();
    const isWait = capacity > 0;
    if (isWait) waits.waits += 1;
    this.#offered += capacity;
    this.#reserve();
    const assigned = await this.#callReplica(waits, capacity);
    if (isWait) waits.waits -= 1;
    this.#offered -= capacity;
    this.#running += assigned.length;
    this.#reserve();
    for (const answer of assigned) void this.#run(answer);
    waits.received.push(...assigned.map(({ answer }) => answer.answerId));
    // A replica that is stopping replies at once and without answers: calls to it pause.
    if (isWait && assigned.length === 0 && performance.now() - calledAt < retryMs) waits.pausedUntil = performance.now() + retryMs;
    if (isWait) this.#offer();
  }

  async #callReplica(waits: ReplicaWaits, capacity: number): Promise<readonly AssignedAnswer[]> {
    const receivedAnswerIds = waits.received;
    waits.received = [];
    try {
      return await this.#deps.answers.wait(waits.replica, { capacity, receivedAnswerIds, stopping: this.#process.stopping.aborted });
    } catch (cause) {
      const error = ServiceError.from(cause);
      // Confirmations are sent again only to a replica that serves. Any other has ended or takes the attempts back, and a stop does not wait for it.
      if (waits.isServing && !this.#process.stopping.aborted) waits.received.unshift(...receivedAnswerIds);
      const isReplicaAway = isAway(error.code);
      waits.pausedUntil = performance.now() + (isReplicaAway ? retryMs : unsupportedMs);
      const level = isReplicaAway ? 'debug' : 'warn';
      this.#process.logger[level]({ event: 'wait_for_answers_failed', replica: waits.replica, code: error.code, err: error });
      return [];
    }
  }

  async #run(assigned: AssignedAnswer): Promise<void> {
    await this.#deps.jobs.run(assigned.answer.answerId, (signal) => this.#deps.run(assigned, signal));
    this.#running -= 1;
    this.#reserve();
    this.#offer();
  }

  /** Leaves to the queue the concurrency that no call offers and no assigned answer uses. */
  #reserve(): void {
    this.#deps.jobs.setReserved(this.#offered + this.#running);
  }
}
