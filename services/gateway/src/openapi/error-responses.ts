import { type ErrorCode, errorCodes } from '@agent-service/contracts';
import { isIdempotent, type Route } from '../routes/route.ts';
import { errorEnvelope, oauthError } from '../schemas/errors.ts';
import { errorHeaders, limitHeaders, requestIdHeader } from './headers.ts';

/** Every way in which a request to this route can fail, by status. */
export function errorResponses(route: Route) {
  const byStatus = Map.groupBy(codesOf(route), (code) => errorCodes[code].http);
  const content = { 'application/json': { schema: route.errorForm === 'oauth' ? oauthError : errorEnvelope } };
  const responses = [...byStatus].map(([status, codes]) => {
    const headers = { ...requestIdHeader, ...errorHeaders(status), ...(route.cost && isCounted(route, status) && limitHeaders) };
    return [
      String(status),
      { description: codes.map((code) => `\`${code}\`: ${errorCodes[code].message}`).join('\n\n'), headers, content },
    ];
  });
  return Object.fromEntries(responses.sort(([a], [b]) => Number(a) - Number(b)));
}

/** Whoever is not known is refused before any limit is looked at. */
const isCounted = ({ auth }: Route, status: number) => auth === 'none' || status !== 401;

function codesOf(route: Route): ErrorCode[] {
  const codes: ErrorCode[] = ['invalid_request', 'unavailable', 'deadline_exceeded', 'internal'];
  if (route.auth === 'token') codes.push('missing_token', 'invalid_token', 'token_expired', 'token_revoked');
  if (route.scope) codes.push('insufficient_scope');
  if (route.admin) codes.push('admin_required');
  if (route.params) codes.push('not_found');
  if (route.cost || route.auth === 'token') codes.push('rate_limited');
  if (route.body) codes.push('payload_too_large', 'unsupported_media_type', 'request_timeout');
  if (route.body && route.bodyType !== 'form') codes.push('invalid_json');
  if (isIdempotent(route)) codes.push('idempotency_in_progress', 'idempotency_key_reused');
  return [...new Set([...codes, ...(route.errors ?? [])])];
}
