import type { ServiceError } from '@agent-service/contracts';

const realm = 'realm="agent-service"';

/** How an OAuth client is asked to authenticate. */
export const basicChallenge = `Basic ${realm}`;

/** The WWW-Authenticate header that a 401 or 403 carries (RFC 6750, section 3). */
export function bearerChallenge({ code, definition, details }: ServiceError): string | undefined {
  if (code === 'missing_token') return `Bearer ${realm}`;
  if (definition.http === 401) return `Bearer ${realm}, error="invalid_token", error_description="${definition.message}"`;
  if (definition.http !== 403) return undefined;
  const { required } = details;
  const scope = Array.isArray(required) ? `, scope="${required.join(' ')}"` : '';
  return `Bearer ${realm}, error="insufficient_scope", error_description="${definition.message}"${scope}`;
}
