import type { AnswerMessage } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import type { AgentsBase } from '../base.ts';
import type { AnswerKey } from './key.ts';
import type { AnswerMetrics, Outcome } from './metrics.ts';

export interface Ended extends AnswerKey {
  readonly message: AnswerMessage;
  readonly outcome: Outcome;
  readonly userId: string;
  readonly attempt: number;
  readonly dispatches: number;
  readonly acceptedAt: number;
  readonly replyChannels: readonly string[];
  readonly requestId: string;
  /** Who is to stop working on it; empty where nobody is. */
  readonly workerChannel: string;
}

/** Tells everybody that answers have ended: those who wait, those who work on them, the log and the metrics. */
export interface Announcer {
  ended(answers: readonly Ended[]): void;
}

export function createAnnouncer(
  { logger }: Pick<ProcessContext, 'logger'>,
  { replies, notices, now }: Pick<AgentsBase, 'replies' | 'notices' | 'now'>,
  metrics: AnswerMetrics,
): Announcer {
  function tell({ id, attempt, message, replyChannels, workerChannel }: Ended): void {
    for (const channel of replyChannels) replies.publish(channel, { kind: 'ended', id, message });
    if (workerChannel !== '') notices.publish(workerChannel, { kind: 'unwanted', id, attempt });
  }

  /** One wide line an answer, without a word of what was said. */
  function record(answer: Ended): void {
    const durationMs = now() - answer.acceptedAt;
    metrics.ended(answer.outcome, durationMs);
    logger.info({
      event: 'answer_ended',
      request_id: answer.requestId,
      organization_id: answer.organizationId,
      environment: answer.environment,
      answer_id: answer.id,
      agent_id: answer.message.agentId,
      conversation_id: answer.message.conversationId,
      user_id: answer.userId,
      tier: answer.message.modelUsed,
      outcome: answer.outcome,
      failure: answer.message.failure?.code,
      credits: answer.message.creditsConsumed,
      attempt: answer.attempt,
      dispatches: answer.dispatches,
      duration_ms: durationMs,
    });
  }

  return {
    ended(answers) {
      for (const answer of answers) tell(answer);
      for (const answer of answers) record(answer);
    },
  };
}
