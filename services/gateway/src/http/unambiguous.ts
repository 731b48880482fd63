import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@agent-service/contracts';

/** Headers of which a second one would be dropped or joined to the first by some of those who read them, and not by others. */
const once: readonly string[] = ['Authorization', 'Idempotency-Key'];
const lowerCase = once.map((name) => name.toLowerCase());
const lengths = new Set(once.map(({ length }) => length));

/** No caller needs as many; reading each costs as much as its bytes. */
const maxHeaders = 200;

/** Refuses a request that two parts of a system could read differently. */
export function checkUnambiguous({ rawHeaders, headers }: IncomingMessage): void {
  if (rawHeaders.length > 2 * maxHeaders) throw new ServiceError('headers_too_large', { message: `Send at most ${maxHeaders} headers.` });
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (!lengths.has(name.length)) continue;
    const which = lowerCase.indexOf(name.toLowerCase());
    if (which === -1) continue;
    if (seen & (1 << which)) throw repeated(once[which] as string);
    seen |= 1 << which;
  }
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw new ServiceError('invalid_request', { message: 'Send the body with Content-Length or with Transfer-Encoding: chunked alone.' });
}

const repeated = (name: string) => new ServiceError('invalid_request', { message: `Send ${name} once.`, param: name });
