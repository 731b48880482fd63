import { writeFile } from 'node:fs/promises';
import type { ProcessContext } from '@agent-service/runtime';
import { sleep } from '@agent-service/work';
import type { AnswerWorkerConfig } from '../config.ts';
import type { WorkerDeps } from '../deps.ts';
import { createAnswerHandler } from '../jobs/answer.ts';
import { composeDeps } from '../start.ts';
import type { FromApart, ToApart } from './processes.ts';

const returnMs = 2_000;

/** A worker that has ended takes no messages, and the answers go on without it. Without a callback the failure would end this process. */
const send = (message: FromApart) => void process.send?.(message, undefined, undefined, () => undefined);

/** Composes a child process that runs answers for its worker. It stops when the worker has ended. */
export async function startApart(context: ProcessContext, config: AnswerWorkerConfig): Promise<void> {
  await preferForOutOfMemory(context);
  const { deps } = await composeDeps(context, config, { apart: true });
  const running = new Map<number, { readonly abort: AbortController; readonly done: Promise<void> }>();

  async function run({ run, job }: Extract<ToApart, { kind: 'run' }>, signal: AbortSignal): Promise<void> {
    try {
      await createAnswerHandler(withReports(deps, run, job.shared ?? false))(job, signal);
    } catch (cause) {
      context.logger.error({ event: 'job_failed', job, err: cause });
    }
    running.delete(run);
    send({ kind: 'done', run });
  }

  context.onStop(
    'answers',
    async () => {
      const all = Promise.all(Array.from(running.values(), ({ done }) => done));
      await Promise.race([all, sleep(config.ANSWER_DRAIN_MS)]);
      for (const { abort } of running.values()) abort.abort();
      await all;
    },
    config.ANSWER_DRAIN_MS + returnMs,
  );
  process.on('message', (message: ToApart) => {
    if (message.kind === 'ping') return send({ kind: 'alive' });
    if (message.kind === 'stop') return running.get(message.run)?.abort.abort();
    const abort = new AbortController();
    running.set(message.run, { abort, done: run(message, abort.signal) });
  });
  send({ kind: 'ready' });
}

/** Reports the attempt of each run to the worker. */
function withReports(deps: WorkerDeps, run: number, shared: boolean): WorkerDeps {
  const { answers } = deps;
  return {
    ...deps,
    answers: {
      ...answers,
      async begin(answer, claim) {
        const attempt = await answers.begin(answer, claim, shared ? 'shared' : 'alone');
        send({ kind: 'begun', run, attempt: attempt.attempt });
        return attempt;
      },
    },
  };
}

/** When memory runs out, the kernel ends this process and not the worker. Other systems than Linux have no such file. */
async function preferForOutOfMemory({ logger }: ProcessContext): Promise<void> {
  await writeFile('/proc/self/oom_score_adj', '1000').catch((cause: unknown) => logger.debug({ event: 'oom_score_not_set', err: cause }));
}
