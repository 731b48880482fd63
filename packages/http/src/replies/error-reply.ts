import { isPublicErrorCode, type PublicErrorCode, ServiceError } from '@agent-service/contracts';
import { retryAfterSeconds } from '../limits/limits.ts';
import type { Exchange } from './exchange.ts';
import type { Reply } from './reply.ts';

const unavailableRetryAfter = '1';

/** An error whose code callers may see. */
export type PublicError = ServiceError<PublicErrorCode>;

/** The fields of an error that callers see. */
export const publicFieldsOf = ({ code, definition, message, param, details }: PublicError) => ({
  type: definition.type,
  code,
  message,
  param,
  details,
});

/** The body of every failure. */
export const errorBody = (error: PublicError, requestId: string): string =>
  JSON.stringify({ error: publicFieldsOf(error), meta: { request_id: requestId } });

export function errorReply(exchange: Exchange, error: PublicError): Reply {
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

/** Seconds after which the caller may try again, for temporary failures. */
function retryAfterOf({ limits }: Exchange, { definition, details }: ServiceError): string | undefined {
  if (definition.http === 429 && typeof details['retry_after_seconds'] === 'number') return String(details['retry_after_seconds']);
  if (definition.http === 429) return String(limits && !limits.allowed ? retryAfterSeconds(limits) : unavailableRetryAfter);
  return definition.http === 503 ? unavailableRetryAfter : undefined;
}

/** The error that the caller sees. Internal codes become `internal`: a failure between services is not the caller's fault. */
export function publicError(cause: unknown): PublicError {
  const error = ServiceError.from(cause);
  if (error.code === 'cancelled') return new ServiceError('unavailable', { cause: error });
  return isPublic(error) ? error : new ServiceError('internal', { cause: error });
}

const isPublic = (error: ServiceError): error is PublicError => isPublicErrorCode(error.code);

const realm = 'realm="agent-service"';

/** How an OAuth client is asked to authenticate. */
const basicChallenge = `Basic ${realm}`;

/** The WWW-Authenticate header that a 401 or 403 carries (RFC 6750, section 3). */
export function bearerChallenge({ code, definition, details }: ServiceError): string | undefined {
  if (code === 'missing_token') return `Bearer ${realm}`;
  if (definition.http === 401) return `Bearer ${realm}, error="invalid_token", error_description="${definition.message}"`;
  if (definition.http !== 403) return undefined;
  const { required } = details;
  const scope = Array.isArray(required) ? `, scope="${required.join(' ')}"` : '';
  return `Bearer ${realm}, error="insufficient_scope", error_description="${definition.message}"${scope}`;
}

const names: Partial<Record<PublicErrorCode, string>> = {
  invalid_client: 'invalid_client',
  invalid_scope: 'invalid_scope',
  invalid_grant_type: 'unsupported_grant_type',
  rate_limited: 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
  deadline_exceeded: 'temporarily_unavailable',
  internal: 'server_error',
};

/** A failure of the OAuth token endpoint as its clients read it (RFC 6749, section 5.2). */
export function oauthErrorReply(exchange: Exchange, error: PublicError): Reply {
  const { http } = error.definition;
  const headers = ['Pragma', 'no-cache'];
  if (http === 401) headers.push('WWW-Authenticate', basicChallenge);
  const retryAfter = retryAfterOf(exchange, error);
  if (retryAfter) headers.push('Retry-After', retryAfter);
  return { status: http, body: oauthErrorBody(error), headers, code: error.code };
}

/** The body of such a failure. */
export const oauthErrorBody = ({ code, message }: PublicError): string =>
  JSON.stringify({ error: names[code] ?? 'invalid_request', error_description: asciiOnly(message) });

/** The characters that RFC 6749 allows in error_description. */
const asciiOnly = (text: string) => text.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?');
