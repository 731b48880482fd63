import { randomUUID } from 'node:crypto';
import { checkEnvironment, ServiceError } from '@agent-service/contracts';
import type { AnswerJob } from '@agent-service/queues';
import { inJobSpan } from '@agent-service/runtime';
import { type AnswerKey, type BegunAnswer, isTemporary, retryCall } from '../answers-api.ts';
import type { WorkerDeps } from '../deps.ts';
import { askModel, type ModelReply } from './ask-model.ts';
import { createStop, endAnswer, type Outcome, type Stop } from './end-answer.ts';

const beginLimitMs = 30_000;

type AnswerHandler = (job: AnswerJob, stopping: AbortSignal) => Promise<void>;

/** Runs an attempt that agents has begun for this worker, of the first dispatch of its answer. */
export async function runAssigned(deps: WorkerDeps, answer: AnswerKey, attempt: BegunAnswer, stopping: AbortSignal): Promise<void> {
  const { organizationId, environment, answerId } = answer;
  const job = { organizationId, environment: checkEnvironment(environment), answerId, dispatch: 1 };
  const run: Run = { job, stop: createStop(stopping, deps.now), startedAt: performance.now() };
  await inJobSpan('answer', attempt.traceparent, () => runAttempt(deps, run, attempt));
}

interface Run {
  readonly job: AnswerJob;
  readonly stop: Stop;
  /** By the monotonic clock. */
  readonly startedAt: number;
}

/** Runs answers: begins an attempt, asks the model, and reports the end until agents has accepted it. */
export function createAnswerHandler(deps: WorkerDeps): AnswerHandler {
  return async (job, stopping) => {
    const run: Run = { job, stop: createStop(stopping, deps.now), startedAt: performance.now() };
    const attempt = await begin(deps, run);
    if (attempt instanceof ServiceError) observeRefusal(deps, job, attempt, run.startedAt);
    else await inJobSpan('answer', attempt.traceparent, () => runAttempt(deps, run, attempt));
  };
}

/** While agents is unavailable the job stays in this process, which takes no others once it knows that no replica answers. */
async function begin({ answers, meters, now }: WorkerDeps, { job, stop }: Run): Promise<BegunAnswer | ServiceError> {
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

async function runAttempt(deps: WorkerDeps, { job, stop, startedAt }: Run, attempt: BegunAnswer): Promise<void> {
  const { inFlightAnswers, replies, meters } = deps;
  const { organizationId, environment, answerId } = job;
  const deadlineMs = Number(attempt.deadlineMs);
  const begunAt = performance.now();
  const inFlight = inFlightAnswers.add({ answer: { organizationId, environment, answerId }, attempt: attempt.attempt }, deadlineMs);
  meters.inFlight.inc();
  stop.onStop(() => inFlight.interrupt('stopping'));
  try {
    const writer = replies.writerTo(answerId, attempt.attempt, attempt.stream ? attempt.replyChannels : []);
    const reply = await askModel(deps, { environment, attempt, inFlight, writer });
    const repliedAt = performance.now();
    const outcome = await endAnswer(deps, { key: inFlight.key, deadlineMs, reply, latencyMs: repliedAt - begunAt, stop });
    observeAnswer(deps, { job, attempt, reply, outcome, times: { startedAt, begunAt, repliedAt } });
  } finally {
    meters.inFlight.dec();
    inFlightAnswers.remove(inFlight);
  }
}

interface Observed {
  readonly job: AnswerJob;
  readonly attempt: BegunAnswer;
  readonly reply: ModelReply;
  readonly outcome: Outcome;
  readonly times: { readonly startedAt: number; readonly begunAt: number; readonly repliedAt: number };
}

/** Writes the log line and the metrics of an attempt, without any content. */
function observeAnswer({ logger, meters }: WorkerDeps, { job, attempt, reply, outcome, times }: Observed): void {
  const endedAt = performance.now();
  const { startedAt, begunAt, repliedAt } = times;
  const { model: tier } = attempt;
  meters.seconds.observe({ tier, outcome: outcome.kind }, (endedAt - startedAt) / 1000);
  if (reply.firstDeltaAt !== undefined) meters.firstDelta.observe({ tier }, (reply.firstDeltaAt - startedAt) / 1000);
  logger[levelOf(outcome)]({
    event: 'answer',
    ...idsOf(job),
    request_id: attempt.requestId,
    agent_id: attempt.agentId,
    conversation_id: attempt.conversationId,
    user_id: attempt.userId,
    tier,
    attempt: attempt.attempt,
    stream: attempt.stream,
    outcome: outcome.kind,
    begin_ms: rounded(begunAt - startedAt),
    model_ms: rounded(repliedAt - begunAt),
    end_ms: rounded(endedAt - repliedAt),
    duration_ms: rounded(endedAt - startedAt),
    queries: reply.log.queries.length,
    ...(reply.firstDeltaAt !== undefined && { first_delta_ms: rounded(reply.firstDeltaAt - startedAt) }),
    ...(reply.kind === 'answer' && tokensOf(reply.answer)),
    ...('error' in outcome && faultOf(outcome.error)),
  });
}

/** Observes a job whose answer could not be begun; mostly it is a second job of the same answer. */
function observeRefusal({ logger, meters }: WorkerDeps, job: AnswerJob, error: ServiceError, startedAt: number): void {
  meters.notBegun.inc({ code: error.code });
  const level = isTemporary(error) ? 'warn' : 'info';
  logger[level]({
    event: 'answer_not_begun',
    ...idsOf(job),
    duration_ms: rounded(performance.now() - startedAt),
    ...faultOf(error),
  });
}

function levelOf(outcome: Outcome): 'info' | 'warn' | 'error' {
  switch (outcome.kind) {
    case 'completed':
    case 'returned':
    case 'unwanted':
      return 'info';
    case 'lost':
    case 'superseded':
    case 'unreported':
      return 'warn';
    case 'failed':
      return outcome.error.code === 'internal' ? 'error' : 'warn';
  }
}

const idsOf = ({ organizationId, environment, answerId, dispatch }: AnswerJob) => ({
  organization_id: organizationId,
  environment,
  answer_id: answerId,
  dispatch,
});

const tokensOf = ({ endpoint, inputTokens, outputTokens }: { endpoint: string; inputTokens: number; outputTokens: number }) => ({
  endpoint,
  input_tokens: inputTokens,
  output_tokens: outputTokens,
});

const faultOf = (error: ServiceError) => ({ code: error.code, ...(error.cause !== undefined && { err: error.cause }) });

const rounded = (ms: number) => Math.round(ms * 10) / 10;
