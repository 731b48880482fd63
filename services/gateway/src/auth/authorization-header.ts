import { isWellFormedApiKey, ServiceError } from '@agent-service/contracts';

/** RFC 6750, section 2.1. */
const bearer = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const bearerScheme = /^Bearer(?: |$)/i;
const jsonWebToken = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** The token of an Authorization header. A header of another scheme counts as none. */
export function bearerToken(header: string | undefined): string {
  if (header === undefined || !bearerScheme.test(header)) throw new ServiceError('missing_token');
  const token = bearer.exec(header)?.[1];
  if (token === undefined) throw new ServiceError('invalid_token');
  return token;
}

/** False for a token that cannot be valid: neither an API key with its checksum nor three parts like an access token. */
export const couldBeOurs = (token: string): boolean => (token.startsWith('sa_') ? isWellFormedApiKey(token) : jsonWebToken.test(token));

/** The fault of a token that cannot be valid. The message does not contain the token. */
export const malformedTokenMessage = (token: string): string =>
  token.startsWith('sa_')
    ? 'The API key is mistyped or cut off: its last characters are a checksum of the others and do not fit. Please copy it again as a whole.'
    : 'The token is neither an API key, which begins with sa_live_ or sa_test_, nor an access token of POST /v1/auth/token.';

const basic = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;
const basicScheme = /^Basic(?: |$)/i;

interface BasicCredentials {
  readonly id: string;
  readonly secret: string;
}

/** HTTP Basic client authentication as RFC 6749, section 2.3.1 has it: both halves are form-encoded. Undefined for any other scheme. */
export function basicCredentials(header: string | undefined): BasicCredentials | undefined {
  if (header === undefined || !basicScheme.test(header)) return undefined;
  const [id, ...secret] = Buffer.from(basic.exec(header)?.[1] ?? '', 'base64')
    .toString()
    .split(':');
  const credentials = { id: decodeForm(id ?? ''), secret: decodeForm(secret.join(':')) };
  if (credentials.id === '' || credentials.secret === '')
    throw new ServiceError('invalid_client', { message: 'The Authorization header is not valid Basic authentication.' });
  return credentials;
}

function decodeForm(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    // A percent sign that encodes nothing: many clients send their credentials unencoded.
    return text;
  }
}
