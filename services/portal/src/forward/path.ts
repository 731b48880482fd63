import { type Environment, ServiceError } from '@agent-service/contracts';

export interface ForwardedPath {
  readonly environment: Environment;
  /** For the gateway, with the query as it was sent. */
  readonly path: string;
}

const prefix = /^\/api\/(live|test)(?=\/v1\/)/;
/** The characters of a request target (RFC 3986) that are left as they are. */
const target = /^[A-Za-z0-9\-._~!$&'()*+,;=:@%/?]*$/;

export const isForwarded = (url: string): boolean => prefix.test(url);

/** The gateway's path of a forwarded request. Refuses one that could lead out of /v1. */
export function forwardedPath(url: string): ForwardedPath {
  const [matched = '', environment] = prefix.exec(url) ?? [];
  const path = url.slice(matched.length);
  const [plain = ''] = path.split('?', 1);
  if (!target.test(path) || plain.split('/').some(leadsAway))
    throw new ServiceError('invalid_request', { message: 'The path is not valid.' });
  return { environment: environment as Environment, path };
}

/** A segment that a server could read as a step up, or as several segments. */
function leadsAway(segment: string): boolean {
  try {
    const decoded = decodeURIComponent(segment);
    return decoded === '.' || decoded === '..' || /[/\\\p{Cc}]/u.test(decoded);
  } catch {
    // The percent-encoding is not valid.
    return true;
  }
}
