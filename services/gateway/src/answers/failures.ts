import { type AnswerMessage, isPublicErrorCode, overdueAnswerMessage, publicErrorCodes, ServiceError } from '@agent-service/contracts';
import type { PublicError } from '@agent-service/http/replies/error-reply';

/** An answer that a caller can come back to. */
export interface AcceptedAnswer {
  readonly messageId: string;
  readonly conversationId: string;
}

const detailsOf = ({ messageId, conversationId }: AcceptedAnswer) => ({ message_id: messageId, conversation_id: conversationId });

/** The error that this answer ended with; undefined if it completed. */
export function failureOf({ id, conversationId, status, failure }: AnswerMessage): PublicError | undefined {
  if (status === 'completed') return undefined;
  const details = detailsOf({ messageId: id, conversationId });
  if (status === 'cancelled') return new ServiceError('answer_cancelled', { details });
  if (failure?.code === 'answer_timeout') return deadlineError(failure.message, details);
  if (failure && isPublicErrorCode(failure.code)) return new ServiceError(failure.code, { message: failure.message || undefined, details });
  return new ServiceError('internal', { details, cause: new Error(`an answer failed with ${failure?.code}`) });
}

/** Details for a caller whose wait ends before the answer. */
export const runningDetails = (accepted: AcceptedAnswer) => ({ ...detailsOf(accepted), status: 'running' as const });

/** The wait is over; the work continues. */
export const waitLimitError = (accepted: AcceptedAnswer) => new ServiceError('answer_timeout', { details: runningDetails(accepted) });

/** The code's own message promises an answer, which does not come any more after the deadline. */
function deadlineError(message: string, details: object): PublicError {
  const text = message === '' || message === publicErrorCodes.answer_timeout.message ? overdueAnswerMessage : message;
  return new ServiceError('answer_timeout', { message: text, details: { ...details, status: 'failed' } });
}

/** The answer was deleted, which only happens together with its agent. */
export const answerDeletedError = (accepted: AcceptedAnswer) => new ServiceError('agent_deleted', { details: detailsOf(accepted) });
