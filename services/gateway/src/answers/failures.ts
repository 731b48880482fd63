import { type AnswerMessage, errorCodes, isErrorCode, ServiceError } from '@agent-service/contracts';

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
  if (failure?.code === 'answer_timeout') return tooLate(failure.message, details);
  if (failure && isErrorCode(failure.code)) return new ServiceError(failure.code, { message: failure.message || undefined, details });
  return new ServiceError('internal', { details, cause: new Error(`an answer failed with ${failure?.code}`) });
}

/** What a reader is told whom we let go before the answer is there. */
export const goesOn = (accepted: Accepted) => ({ ...detailsOf(accepted), status: 'running' });

/** Nobody waits any longer; the work goes on. */
export const notThereYet = (accepted: Accepted) => new ServiceError('answer_timeout', { details: goesOn(accepted) });

/** The code's own message promises an answer, which does not come any more after the deadline. */
function tooLate(message: string, details: object): ServiceError {
  const said = message === '' || message === errorCodes.answer_timeout.message ? tooLateMessage : message;
  return new ServiceError('answer_timeout', { message: said, details: { ...details, status: 'failed' } });
}

const tooLateMessage = 'The answer took longer than it may. No credits were charged.';

/** What was accepted is gone, which only happens with its agent. */
export const removed = (accepted: Accepted) => new ServiceError('agent_deleted', { details: detailsOf(accepted) });
