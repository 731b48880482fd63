import type { AnswerMessage } from '@agent-service/contracts';
import { isoTime } from '@agent-service/store';
import type { MessageRow } from '../store/messages.ts';

/** A message as its readers see it, whichever side it is from. */
export const toMessage = ({ credits, tier, failureCode, failureMessage, queries, createdAt, ...row }: MessageRow): AnswerMessage => ({
  ...row,
  contentType: row.role === 'user' ? 'text' : row.contentType,
  creditsConsumed: credits,
  modelUsed: tier,
  createdAt: isoTime(createdAt),
  failure: failureCode === '' ? null : { code: failureCode, message: failureMessage },
  queries: queries ?? [],
});
