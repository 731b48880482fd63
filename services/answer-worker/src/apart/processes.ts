import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { AnswerJob } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import type { AnswersApi } from '../answers/answers-api.ts';
import type { AnswerHandler } from '../jobs/answer.ts';
import type { Meters } from '../meters.ts';
import type { FromApart, ToApart } from './messages.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
/** A process that has run nothing for so long ends. */
const idleMs = 10_000;
const readyMs = 20_000;

export interface ApartDeps {
  readonly answers: AnswersApi;
  readonly meters: Meters;
  readonly environment: NodeJS.ProcessEnv;
  readonly drainMs: number;
}

/** A process that runs one answer at a time. */
interface ApartProcess {
  /** Resolves when the answer is done with, or when the process has died with it. */
  run(job: AnswerJob, stopping: AbortSignal): Promise<Ended>;
  /** Ends it, when it has handed back what it runs. */
  end(): Promise<void>;
}

type Ended = { readonly kind: 'done' } | { readonly kind: 'died'; readonly attempt: number | undefined; readonly how: string };

/**
 * Runs answers that have lost a lease in processes of their own, one answer each at a time: one that ends its process ends no
 * other answer. A process is used again as long as it lives, since starting one takes about half a second.
 */
export function createApartHandler(context: ProcessContext, { answers, meters, environment, drainMs }: ApartDeps): AnswerHandler {
  // The worker's two queues drain at the same time.
  const drained = new AbortController();
  context.stopping.addEventListener('abort', () => void setTimeout(() => drained.abort(), drainMs).unref(), { once: true });
  const idle = new Map<ApartProcess, NodeJS.Timeout>();
  const all = new Set<ApartProcess>();

  function take(): ApartProcess {
    const [found] = idle.keys();
    if (!found) {
      const started = startApartProcess(environment);
      all.add(started);
      return started;
    }
    clearTimeout(idle.get(found));
    idle.delete(found);
    return found;
  }

  function leave(process: ApartProcess): void {
    const end = () => {
      idle.delete(process);
      all.delete(process);
      void process.end();
    };
    idle.set(process, setTimeout(end, idleMs).unref());
  }

  async function reportDeath(job: AnswerJob, { attempt, how }: Extract<Ended, { kind: 'died' }>): Promise<void> {
    const { organizationId, environment: tenantEnvironment, answerId } = job;
    meters.processesDied.inc();
    context.logger.warn({ event: 'answer_process_died', organization_id: organizationId, answer_id: answerId, attempt, how });
    if (attempt === undefined) return;
    // Where agents does not hear of it, the lease runs out.
    await answers.reportDeath({ answer: { organizationId, environment: tenantEnvironment, answerId }, attempt });
  }

  context.onStop('processes of single answers', async () => {
    await Promise.all([...all].map((process) => process.end()));
  });
  return async (job, stopping) => {
    const process = take();
    const ended = await process.run(job, AbortSignal.any([stopping, drained.signal]));
    if (ended.kind === 'done') return leave(process);
    all.delete(process);
    await reportDeath(job, ended);
  };
}

function startApartProcess(environment: NodeJS.ProcessEnv): ApartProcess {
  const child = fork(main, { env: environment });
  const gone = exitOf(child);
  const ready = new Promise<void>((resolve) => {
    child.once('message', () => resolve());
    void gone.then(() => resolve());
  });
  const late = setTimeout(() => child.kill('SIGKILL'), readyMs);
  void ready.then(() => clearTimeout(late));

  // A process that is gone takes no messages; `gone` says so to whoever waits.
  const send = (message: ToApart) => void (child.connected && child.send(message, () => undefined));

  return {
    async run(job, stopping) {
      await ready;
      let attempt: number | undefined;
      const { promise: done, resolve } = Promise.withResolvers<Ended>();
      const hear = (message: FromApart) => {
        if (message.kind === 'begun') attempt = message.attempt;
        if (message.kind === 'done') resolve({ kind: 'done' });
      };
      const stop = () => send({ kind: 'stop' });
      child.on('message', hear);
      stopping.addEventListener('abort', stop, { once: true });
      try {
        send({ kind: 'run', job });
        if (stopping.aborted) stop();
        return await Promise.race([done, gone.then((how): Ended => ({ kind: 'died', attempt, how }))]);
      } finally {
        child.off('message', hear);
        stopping.removeEventListener('abort', stop);
      }
    },
    async end() {
      if (child.connected) child.disconnect();
      await gone;
    },
  };
}

/** How the process ended, also where it could not be started. */
async function exitOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return signal ?? `code ${code}`;
  } catch (cause) {
    return `not started: ${String(cause)}`;
  }
}
