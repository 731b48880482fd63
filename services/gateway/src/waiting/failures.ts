import { type AnswerMessage, isErrorCode, ServiceError } from '@agent-service/contracts';

/** An answer that a caller can come back to. */
export interface Accepted {
  readonly messageId: string;
  readonly conversationId: string;
}

const detailsOf = ({ messageId, conversationId }: Accepted) => ({ message_id: messageId, conversation_id: conversationId });

/** Why this answer is none; undefined for one that completed. */
export function failureOf({ id, conversationId, status, failure }: AnswerMessage): ServiceError | undefined {
  if (status === 'completed') return undefined;
  const details = detailsOf({ messageId: id, conversationId });
  if (status === 'cancelled') return new ServiceError('answer_cancelled', { details });
  if (failure && isErrorCode(failure.code)) return new ServiceError(failure.code, { message: failure.message || undefined, details });
  return new ServiceError('internal', { details, cause: new Error(`an answer failed with ${failure?.code}`) });
}

/** Nobody waits any longer; the work goes on. */
export const notThereYet = (accepted: Accepted) => new ServiceError('answer_timeout', { details: detailsOf(accepted) });

/** What was accepted is gone, which only happens with its agent. */
export const removed = (accepted: Accepted) => new ServiceError('agent_deleted', { details: detailsOf(accepted) });
