import { isWellFormedApiKey, ServiceError } from '@agent-service/contracts';

/** RFC 6750, section 2.1. */
const bearer = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const bearerScheme = /^Bearer(?: |$)/i;
const jsonWebToken = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** The token of an Authorization header; another scheme is as good as none. */
export function bearerToken(header: string | undefined): string {
  if (header === undefined || !bearerScheme.test(header)) throw new ServiceError('missing_token');
  const token = bearer.exec(header)?.[1];
  if (token === undefined) throw new ServiceError('invalid_token');
  return token;
}

/** Whether it is worth asking about: an API key with its checksum, or three parts that could be an access token. */
export const couldBeOurs = (token: string): boolean => (token.startsWith('sa_') ? isWellFormedApiKey(token) : jsonWebToken.test(token));
