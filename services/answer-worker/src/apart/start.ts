import { writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { ProcessContext } from '@agent-service/runtime';
import type { AnswerWorkerConfig } from '../config.ts';
import { createAnswerHandler } from '../jobs/answer.ts';
import { composeContext } from '../start.ts';
import type { FromApart, ToApart } from './messages.ts';

const handBackMs = 2_000;

const tell = (message: FromApart) => void process.send?.(message);

/** Composes a process that runs one answer at a time for the worker that started it, and stops when that worker is gone. */
export async function startApart(context: ProcessContext, config: AnswerWorkerConfig): Promise<void> {
  await preferForOutOfMemory(context);
  const { workerContext } = await composeContext(context, config, { apart: true });
  const { answers } = workerContext;
  const handle = createAnswerHandler({
    ...workerContext,
    answers: {
      ...answers,
      async begin(answer, claim) {
        const begun = await answers.begin(answer, claim);
        tell({ kind: 'begun', attempt: begun.attempt });
        return begun;
      },
    },
  });
  let abort = new AbortController();
  let running: Promise<void> | undefined;

  function run(message: ToApart): void {
    if (message.kind === 'stop') {
      abort.abort();
      return;
    }
    abort = new AbortController();
    running = handle(message.job, abort.signal)
      .catch((cause: unknown) => context.logger.error({ event: 'job_failed', job: message.job, err: cause }))
      .then(() => tell({ kind: 'done' }));
  }

  context.onStop(
    'answer',
    async () => {
      await Promise.race([running, pause(config.ANSWER_DRAIN_MS, undefined, { ref: false })]);
      abort.abort();
      await running;
    },
    config.ANSWER_DRAIN_MS + handBackMs,
  );
  process.on('message', run);
  tell({ kind: 'ready' });
}

/** When memory runs out, the kernel ends this process and not the worker. Other systems than Linux have no such file. */
async function preferForOutOfMemory({ logger }: ProcessContext): Promise<void> {
  await writeFile('/proc/self/oom_score_adj', '1000').catch((cause: unknown) => logger.debug({ event: 'oom_score_not_set', err: cause }));
}
