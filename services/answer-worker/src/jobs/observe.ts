import type { ServiceError } from '@agent-service/contracts';
import type { AnswerJob } from '@agent-service/queues';
import { type BegunAnswer, isTemporary } from '../answers/answers-api.ts';
import type { WorkerContext } from '../context.ts';
import type { ModelReply } from './ask-model.ts';
import type { Outcome } from './end-answer.ts';

interface Observed {
  readonly job: AnswerJob;
  readonly begun: BegunAnswer;
  readonly reply: ModelReply;
  readonly outcome: Outcome;
  readonly times: { readonly startedAt: number; readonly begunAt: number; readonly repliedAt: number };
}

/** Writes the log line and the metrics of an attempt, without any content. */
export function observeAnswer({ logger, meters }: WorkerContext, { job, begun, reply, outcome, times }: Observed): void {
  const endedAt = performance.now();
  const { startedAt, begunAt, repliedAt } = times;
  const { model: tier } = begun;
  meters.seconds.observe({ tier, outcome: outcome.kind }, (endedAt - startedAt) / 1000);
  if (reply.firstDeltaAt !== undefined) meters.firstDelta.observe({ tier }, (reply.firstDeltaAt - startedAt) / 1000);
  logger[levelOf(outcome)]({
    event: 'answer',
    ...idsOf(job),
    request_id: begun.requestId,
    agent_id: begun.agentId,
    conversation_id: begun.conversationId,
    user_id: begun.userId,
    tier,
    attempt: begun.attempt,
    stream: begun.stream,
    outcome: outcome.kind,
    begin_ms: rounded(begunAt - startedAt),
    model_ms: rounded(repliedAt - begunAt),
    end_ms: rounded(endedAt - repliedAt),
    duration_ms: rounded(endedAt - startedAt),
    queries: reply.queries.length,
    ...(reply.firstDeltaAt !== undefined && { first_delta_ms: rounded(reply.firstDeltaAt - startedAt) }),
    ...(reply.kind === 'answer' && tokensOf(reply.answer)),
    ...('error' in outcome && faultOf(outcome.error)),
  });
}

/** Observes a job whose answer agents did not give: mostly a second job for the same answer. */
export function observeRefusal({ logger, meters }: WorkerContext, job: AnswerJob, error: ServiceError, startedAt: number): void {
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
    case 'unheard':
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
