import { type RpcOf, ServiceError } from '@agent-service/contracts';
import type { Outcome } from '../domain/outcome.ts';

type Item = Parameters<RpcOf<'webhooks', 'endDelivery'>['handle']>[0]['items'][number];

const longestBody = 1_024;

/** Text that PostgreSQL keeps: no NUL, no half of a character. */
const storable = (text: string) => text.slice(0, longestBody).replaceAll('\0', '\uFFFD').toWellFormed();

export function toOutcome({ answer, failure, returned }: Item): Outcome {
  if (answer) {
    const { status, body, retryAfterMs, durationMs } = answer;
    return { kind: 'answered', status, body: storable(body), retryAfterMs: Number(retryAfterMs), durationMs };
  }
  if (failure) return { kind: 'unanswered', reason: storable(failure.reason), durationMs: failure.durationMs };
  if (returned) return { kind: 'returned' };
  throw new ServiceError('invalid_request', { message: 'Each item needs an outcome.', param: 'outcome' });
}
