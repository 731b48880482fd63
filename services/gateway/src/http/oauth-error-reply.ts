import type { ErrorCode, ServiceError } from '@agent-service/contracts';
import { basicChallenge } from '../auth/challenge.ts';
import { retryAfterOf } from './error-reply.ts';
import type { Exchange } from './exchange.ts';
import type { Reply } from './reply.ts';

const names: Partial<Record<ErrorCode, string>> = {
  invalid_client: 'invalid_client',
  invalid_scope: 'invalid_scope',
  invalid_grant_type: 'unsupported_grant_type',
  rate_limited: 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
  deadline_exceeded: 'temporarily_unavailable',
  internal: 'server_error',
};

/** A failure of the OAuth token endpoint as its clients read it (RFC 6749, section 5.2). */
export function oauthErrorReply(exchange: Exchange, error: ServiceError): Reply {
  const { http } = error.definition;
  const headers = ['Pragma', 'no-cache'];
  if (http === 401) headers.push('WWW-Authenticate', basicChallenge);
  const retryAfter = retryAfterOf(exchange, error);
  if (retryAfter) headers.push('Retry-After', retryAfter);
  const body = JSON.stringify({ error: names[error.code] ?? 'invalid_request', error_description: asciiOnly(error.message) });
  return { status: http, body, headers, code: error.code };
}

/** The characters that RFC 6749 allows in error_description. */
const asciiOnly = (text: string) => text.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?');
