import { ServiceError } from '@agent-service/contracts';
import { bearerChallenge } from '../auth/challenge.ts';
import { retryAfterSeconds } from '../limits/limit-headers.ts';
import type { Exchange } from './exchange.ts';
import type { Reply } from './reply.ts';

const unavailableRetryAfter = '1';

/** The body of every failure. */
export function errorBody({ code, definition, message, param, details }: ServiceError, requestId: string): string {
  return JSON.stringify({ error: { type: definition.type, code, message, param, details }, meta: { request_id: requestId } });
}

export function errorReply(exchange: Exchange, error: ServiceError): Reply {
  return {
    status: error.definition.http,
    body: errorBody(error, exchange.requestId),
    headers: errorHeaders(exchange, error),
    code: error.code,
  };
}

function errorHeaders(exchange: Exchange, error: ServiceError): string[] {
  const headers: string[] = [];
  const challenge = bearerChallenge(error);
  if (challenge) headers.push('WWW-Authenticate', challenge);
  const retryAfter = retryAfterOf(exchange, error);
  if (retryAfter) headers.push('Retry-After', retryAfter);
  return headers;
}

/** When to come back, for the failures that pass. */
export function retryAfterOf({ limits }: Exchange, { definition }: ServiceError): string | undefined {
  if (definition.http === 429) return String(limits && !limits.allowed ? retryAfterSeconds(limits) : unavailableRetryAfter);
  return definition.http === 503 ? unavailableRetryAfter : undefined;
}

/** The failure as the caller may see it: what is between us and our own services is our fault and not the caller's. */
export function publicError(cause: unknown): ServiceError {
  const error = ServiceError.from(cause);
  if (error.code === 'service_forbidden') return new ServiceError('internal', { cause: error });
  if (error.code === 'cancelled') return new ServiceError('unavailable', { cause: error });
  return error;
}
