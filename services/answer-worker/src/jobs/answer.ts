import { randomUUID } from 'node:crypto';
import { ServiceError } from '@agent-service/contracts';
import type { AnswerJob } from '@agent-service/queues';
import { inJobSpan } from '@agent-service/runtime';
import { type BegunAnswer, retryCall } from '../answers/answers-api.ts';
import type { WorkerContext } from '../context.ts';
import { askModel } from './ask-model.ts';
import { createStop, endAnswer, type Stop } from './end-answer.ts';
import { observeAnswer, observeRefusal } from './observe.ts';

const beginLimitMs = 30_000;

type AnswerHandler = (job: AnswerJob, stopping: AbortSignal) => Promise<void>;

interface Run {
  readonly job: AnswerJob;
  readonly stop: Stop;
  /** By the monotonic clock. */
  readonly startedAt: number;
}

/** Runs answers: begins an attempt, asks the model, and reports the end until agents has accepted it. */
export function createAnswerHandler(context: WorkerContext): AnswerHandler {
  return async (job, stopping) => {
    const run: Run = { job, stop: createStop(stopping, context.now), startedAt: performance.now() };
    try {
      const begun = await begin(context, run);
      if (begun instanceof ServiceError) observeRefusal(context, job, begun, run.startedAt);
      else await inJobSpan('answer', begun.traceparent, () => runAttempt(context, run, begun));
    } finally {
      run.stop.dispose();
    }
  };
}

/** While agents is away the job stays in this process: it would fail in another one as well. */
async function begin({ answers, meters, now }: WorkerContext, { job, stop }: Run): Promise<BegunAnswer | ServiceError> {
  const { organizationId, environment, answerId } = job;
  const claim = randomUUID();
  const latest = now() + beginLimitMs;
  try {
    return await retryCall(() => answers.begin({ organizationId, environment, answerId }, claim), {
      now,
      endsAt: () => Math.min(latest, stop.at),
      onRetry: () => meters.callsRepeated.inc({ call: 'begin' }),
    });
  } catch (cause) {
    return ServiceError.from(cause);
  }
}

async function runAttempt(context: WorkerContext, { job, stop, startedAt }: Run, begun: BegunAnswer): Promise<void> {
  const { inFlight, replies, meters } = context;
  const { organizationId, environment, answerId } = job;
  const deadlineMs = Number(begun.deadlineMs);
  const begunAt = performance.now();
  const answer = inFlight.add({ answer: { organizationId, environment, answerId }, attempt: begun.attempt }, deadlineMs);
  meters.inFlight.inc();
  stop.onStop(() => answer.interrupt('stopping'));
  try {
    const reader = replies.readerOf(answerId, begun.attempt, begun.stream ? begun.replyChannels : []);
    const reply = await askModel(context, { environment, begun, answer, reader });
    const repliedAt = performance.now();
    const outcome = await endAnswer(context, { key: answer.key, deadlineMs, reply, stop });
    observeAnswer(context, { job, begun, reply, outcome, times: { startedAt, begunAt, repliedAt } });
  } finally {
    meters.inFlight.dec();
    inFlight.remove(answer);
  }
}
