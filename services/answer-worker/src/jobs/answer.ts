import { randomUUID } from 'node:crypto';
import { ServiceError } from '@agent-service/contracts';
import type { AnswerJob } from '@agent-service/queues';
import { inJobSpan } from '@agent-service/runtime';
import type { BegunAnswer } from '../answers/answers-api.ts';
import { persist } from '../answers/persist.ts';
import type { WorkerContext } from '../context.ts';
import { askModel } from './ask-model.ts';
import { endAnswer } from './end-answer.ts';
import { observeLife, observeRefusal } from './observe.ts';
import { createStop, type Stop } from './stop.ts';

const beginLimitMs = 30_000;

export type AnswerHandler = (job: AnswerJob, stopping: AbortSignal) => Promise<void>;

interface Life {
  readonly job: AnswerJob;
  readonly stop: Stop;
  /** Of the monotonic clock. */
  readonly startedAt: number;
}

/** One answer's life in this process: taken up, asked of the model, and its end told until it has been heard. */
export function createAnswerHandler(context: WorkerContext): AnswerHandler {
  return async (job, stopping) => {
    const life: Life = { job, stop: createStop(stopping, context.now), startedAt: performance.now() };
    try {
      const begun = await begin(context, life);
      if (begun instanceof ServiceError) observeRefusal(context, job, begun, life.startedAt);
      else await inJobSpan('answer', begun.traceparent, () => live(context, life, begun));
    } finally {
      life.stop.forget();
    }
  };
}

/** While agents is away the job stays here: elsewhere it would find agents away as well. */
async function begin({ answers, meters, now }: WorkerContext, { job, stop }: Life): Promise<BegunAnswer | ServiceError> {
  const { organizationId, environment, answerId } = job;
  const claim = randomUUID();
  const latest = now() + beginLimitMs;
  try {
    return await persist(() => answers.begin({ organizationId, environment, answerId }, claim), {
      now,
      endsAt: () => Math.min(latest, stop.at),
      onAgain: () => meters.askedAgain.inc({ call: 'begin' }),
    });
  } catch (cause) {
    return ServiceError.from(cause);
  }
}

async function live(context: WorkerContext, { job, stop, startedAt }: Life, begun: BegunAnswer): Promise<void> {
  const { hand, replies, meters } = context;
  const { organizationId, environment, answerId } = job;
  const deadlineMs = Number(begun.deadlineMs);
  const begunAt = performance.now();
  const held = hand.take({ answer: { organizationId, environment, answerId }, attempt: begun.attempt }, deadlineMs);
  meters.inHand.inc();
  stop.whenSaid(() => held.interrupt('stopping'));
  try {
    const reader = replies.readerOf(answerId, begun.attempt, begun.stream ? begun.replyChannels : []);
    const asked = await askModel(context, { environment, begun, held, reader });
    const askedAt = performance.now();
    const outcome = await endAnswer(context, { held, deadlineMs, asked, stop });
    observeLife(context, { job, begun, asked, outcome, times: { startedAt, begunAt, askedAt } });
  } finally {
    meters.inHand.dec();
    hand.drop(held);
  }
}
