import type { ApartJob } from '@agent-service/queues';
import type { Isolation } from '../answers-api.ts';

/** A child process that runs answers for this worker. */
export interface ApartProcess {
  readonly pid: number;
  /** Resolves when the job has ended, or when the process has died and its death has been reported. */
  run(job: ApartJob, stopping: AbortSignal): Promise<void>;
  /** Ends it after it has returned its attempts. */
  end(): Promise<void>;
  /** Resolves when it has ended for any reason. */
  readonly ended: Promise<unknown>;
}

/** A process of the pool. It never runs answers of both kinds at the same time. */
export interface PooledProcess {
  readonly process: ApartProcess;
}

interface ProcessPoolOptions {
  readonly start: () => ApartProcess;
  readonly processes: number;
  /** How many answers share a process. */
  readonly shared: number;
  /** A process without answers ends after this long. */
  readonly idleMs: number;
}

interface Member extends PooledProcess {
  isolation: Isolation;
  running: number;
  /** Gets no further answer until it is empty, so that an answer that runs alone can use it. */
  isClosed: boolean;
  /** It is ending, and counts as in use until it has ended. */
  isEnding: boolean;
  idle: NodeJS.Timeout | undefined;
}

/** Spreads answers over a bounded number of processes. Neither kind of answers waits until all of the other kind have ended. */
export class ProcessPool {
  readonly #options: ProcessPoolOptions;
  readonly #members = new Set<Member>();
  readonly #waiting: Record<Isolation, ((member: PooledProcess) => void)[]> = { alone: [], shared: [] };
  #last: Isolation = 'alone';

  constructor(options: ProcessPoolOptions) {
    this.#options = options;
  }

  /** Waits for a process; undefined where `stopping` aborts first. */
  async acquire(isolation: Isolation, stopping: AbortSignal): Promise<PooledProcess | undefined> {
    if (stopping.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<PooledProcess | undefined>();
    const waiting = this.#waiting[isolation];
    const giveUp = () => {
      const index = waiting.indexOf(resolve);
      if (index >= 0) waiting.splice(index, 1);
      resolve(undefined);
    };
    stopping.addEventListener('abort', giveUp, { once: true });
    waiting.push(resolve);
    this.#assign();
    try {
      return await promise;
    } finally {
      stopping.removeEventListener('abort', giveUp);
    }
  }

  release(pooled: PooledProcess): void {
    const member = pooled as Member;
    member.running -= 1;
    if (member.running === 0 && this.#members.has(member)) {
      member.isClosed = false;
      member.idle = setTimeout(() => {
        member.isEnding = true;
        void member.process.end();
      }, this.#options.idleMs).unref();
    }
    this.#assign();
  }

  /** Ends all processes after they have returned their attempts. */
  async end(): Promise<void> {
    await Promise.all(Array.from(this.#members, ({ process }) => process.end()));
  }

  #assign(): void {
    while (this.#assignOne());
    const mayWait = this.#waiting.alone.length === 0 || this.#membersOf('alone').length > 0;
    if (mayWait || [...this.#members].some(({ isClosed }) => isClosed)) return;
    const emptiest = this.#emptiestShared(Number.POSITIVE_INFINITY);
    if (emptiest) emptiest.isClosed = true;
  }

  #assignOne(): boolean {
    for (const isolation of this.#order()) {
      const member = this.#waiting[isolation].length > 0 ? this.#find(isolation) : undefined;
      if (!member) continue;
      clearTimeout(member.idle);
      member.isolation = isolation;
      member.running += 1;
      this.#last = isolation;
      this.#waiting[isolation].shift()?.(member);
      return true;
    }
    return false;
  }

  /** The kind with fewer processes comes first; with equal numbers they alternate. */
  #order(): Isolation[] {
    const more = this.#membersOf('shared').length - this.#membersOf('alone').length;
    return more > 0 || (more === 0 && this.#last === 'shared') ? ['alone', 'shared'] : ['shared', 'alone'];
  }

  /** Shared answers use all processes but the last one, which is free for an answer that runs alone while the others have room. */
  #find(isolation: Isolation): Member | undefined {
    const { processes, shared } = this.#options;
    const unused = processes - [...this.#members].filter(({ running, isEnding }) => running > 0 || isEnding).length;
    const withRoom = isolation === 'shared' && unused <= 1 ? this.#emptiestShared(shared) : undefined;
    return withRoom ?? (unused > 0 ? this.#findEmpty() : undefined);
  }

  #findEmpty(): Member {
    const empty = [...this.#members].find(({ running, isEnding }) => running === 0 && !isEnding);
    if (empty) return empty;
    const process = this.#options.start();
    const member: Member = { process, isolation: 'alone', running: 0, isClosed: false, isEnding: false, idle: undefined };
    this.#members.add(member);
    void process.ended.then(() => {
      this.#members.delete(member);
      clearTimeout(member.idle);
      this.#assign();
    });
    return member;
  }

  #membersOf(isolation: Isolation): Member[] {
    return [...this.#members].filter((member) => member.running > 0 && member.isolation === isolation);
  }

  #emptiestShared(below: number): Member | undefined {
    return this.#membersOf('shared')
      .filter(({ isClosed, running }) => !isClosed && running < below)
      .sort((one, other) => one.running - other.running)[0];
  }
}
