import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ApartJob } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import type { AnswersApi } from '../answers-api.ts';
import type { AnswerWorkerConfig } from '../config.ts';
import type { Meters } from '../meters.ts';
import { type ApartProcess, ProcessPool } from './pool.ts';

/** A process without answers ends after this long. */
const idleMs = 10_000;

interface ApartDeps {
  readonly answers: AnswersApi;
  readonly meters: Meters;
  readonly config: AnswerWorkerConfig;
}

/**
 * Runs answers that have lost a lease in child processes: those that have lost one share processes, the others run alone. So an answer
 * that kills its process affects few other answers. Processes are reused, because starting one takes about half a second.
 */
export function createApartHandler(context: ProcessContext, { answers, meters, config }: ApartDeps) {
  const { logger } = context;
  // Both queues of the worker drain at the same time.
  const drained = new AbortController();
  context.stopping.addEventListener('abort', () => void setTimeout(() => drained.abort(), config.ANSWER_DRAIN_MS).unref(), { once: true });

  async function reportDeath({ how, runs }: Death): Promise<void> {
    const attempts = runs.flatMap(({ job: { organizationId, environment, answerId }, attempt }) =>
      attempt === undefined ? [] : [{ answer: { organizationId, environment, answerId }, attempt }],
    );
    meters.processesDied.inc();
    logger.warn({ event: 'answer_process_died', how, running: runs.length, answers: attempts });
    if (attempts.length === 0) return;
    try {
      await answers.reportDeath(attempts);
    } catch (cause) {
      // Their leases expire.
      logger.warn({ event: 'death_not_reported', answers: attempts.length, err: cause });
    }
  }

  const pool = new ProcessPool({
    start: () => startApartProcess({ environment: config.environment, onDeath: reportDeath }),
    processes: config.ANSWER_APART_PROCESSES,
    shared: config.ANSWER_APART_SHARED,
    idleMs,
  });
  context.onStop('processes of answers that lost a lease', () => pool.end());

  return async (job: ApartJob, stopping: AbortSignal): Promise<void> => {
    // A job that still waits when this worker stops is dropped: agents gives its answer another job.
    const pooled = await pool.acquire(job.shared ? 'shared' : 'alone', AbortSignal.any([stopping, context.stopping]));
    if (!pooled) return;
    try {
      await pooled.process.run(job, AbortSignal.any([stopping, drained.signal]));
    } finally {
      pool.release(pooled);
    }
  };
}

/** Messages of a worker to a child process that runs answers for it. A run is the job of one answer there. */
export type ToApart =
  | { readonly kind: 'run'; readonly run: number; readonly job: ApartJob }
  /** The worker stops: the attempt is to be returned. */
  | { readonly kind: 'stop'; readonly run: number }
  /** Requires an `alive` message. */
  | { readonly kind: 'ping' };

export type FromApart =
  | { readonly kind: 'ready' }
  | { readonly kind: 'alive' }
  /** The attempt has begun: if this process dies, it has lost its lease. */
  | { readonly kind: 'begun'; readonly run: number; readonly attempt: number }
  | { readonly kind: 'done'; readonly run: number };

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const readyMs = 20_000;
const defaultPingMs = 1_000;
/** Longer than a lease: by then agents has dispatched the answers of a silent process again. */
const maxSilentPings = 20;

/** The end of a process that was running answers. */
export interface Death {
  readonly how: string;
  /** A run that had not begun has no attempt. */
  readonly runs: readonly { readonly job: ApartJob; readonly attempt: number | undefined }[];
}

interface Run {
  readonly job: ApartJob;
  attempt: number | undefined;
  readonly done: () => void;
}

interface ApartProcessOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** Called once for all answers that the process was running. */
  readonly onDeath: (death: Death) => Promise<void>;
  readonly pingEveryMs?: number;
}

/** Starts a process, and kills it when it does not answer `maxSilentPings` pings in a row. */
export function startApartProcess({ environment, onDeath, pingEveryMs = defaultPingMs }: ApartProcessOptions): ApartProcess {
  const child = fork(main, { env: environment });
  const ended = exitOf(child);
  const runs = new Map<number, Run>();
  let started = 0;
  const ready = Promise.withResolvers<void>();
  const late = setTimeout(() => child.kill('SIGKILL'), readyMs);
  void Promise.race([ready.promise, ended]).then(() => {
    clearTimeout(late);
    ready.resolve();
  });
  let silentPings = 0;
  let pinging: NodeJS.Timeout | undefined;
  // Counts pings and not time: when this process was frozen, the child still gets time to answer.
  function ping(): void {
    silentPings += 1;
    if (silentPings > maxSilentPings) child.kill('SIGKILL');
    else send({ kind: 'ping' });
  }
  void ready.promise.then(() => (pinging = setInterval(ping, pingEveryMs).unref()));
  void Promise.all([ready.promise, ended]).then(() => clearInterval(pinging));
  child.on('message', (message: FromApart) => {
    silentPings = 0;
    if (message.kind === 'alive') return;
    if (message.kind === 'ready') return ready.resolve();
    const run = runs.get(message.run);
    if (run && message.kind === 'begun') run.attempt = message.attempt;
    if (run && message.kind === 'done') run.done();
  });
  let isAskedToEnd = false;
  const reported = ended.then((how) => {
    // A process that ends in order has returned its attempts, although its channel was closed before it could say so.
    if (runs.size === 0 || (isAskedToEnd && how === endedInOrder)) return;
    return onDeath({ how, runs: [...runs.values()] });
  });
  // A process that has ended takes no messages; `reported` ends its runs.
  const send = (message: ToApart) => void (child.connected && child.send(message, () => undefined));

  return {
    pid: child.pid ?? 0,
    ended,
    async run(job, stopping) {
      const number = ++started;
      const { promise: done, resolve } = Promise.withResolvers<void>();
      runs.set(number, { job, attempt: undefined, done: resolve });
      const stop = () => send({ kind: 'stop', run: number });
      await ready.promise;
      stopping.addEventListener('abort', stop, { once: true });
      try {
        send({ kind: 'run', run: number, job });
        if (stopping.aborted) stop();
        await Promise.race([done, reported]);
      } finally {
        runs.delete(number);
        stopping.removeEventListener('abort', stop);
      }
    },
    async end() {
      isAskedToEnd = true;
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

const endedInOrder = 'code 0';

/** How the process ended, or why it could not start. */
async function exitOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return signal ?? `code ${code}`;
  } catch (cause) {
    return `not started: ${String(cause)}`;
  }
}
