import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@agent-service/contracts';

/** More than any caller needs. Reading a header costs processor time even if it is short. */
const maxHeaders = 200;

/** Makes a check that refuses a request which two parts of a system could read differently: Host or one of these headers stands in it twice, for example. */
export function createAmbiguityCheck(headersOfRoutes: readonly string[]): (request: IncomingMessage) => void {
  const singleHeaders = ['Host', ...headersOfRoutes];
  const lowerCase = singleHeaders.map((name) => name.toLowerCase());
  const lengths = new Set(singleHeaders.map(({ length }) => length));

  return ({ rawHeaders, headers }) => {
    if (rawHeaders.length > 2 * maxHeaders) throw new ServiceError('headers_too_large', { message: `Send at most ${maxHeaders} headers.` });
    let seenHeaders = 0;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index] as string;
      if (!lengths.has(name.length)) continue;
      const which = lowerCase.indexOf(name.toLowerCase());
      if (which === -1) continue;
      if (seenHeaders & (1 << which)) throw repeated(singleHeaders[which] as string);
      seenHeaders |= 1 << which;
    }
    checkCoding(headers['transfer-encoding']);
  };
}

function checkCoding(coding: string | undefined): void {
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw new ServiceError('invalid_request', { message: 'Send the body with Content-Length or with Transfer-Encoding: chunked alone.' });
}

const repeated = (name: string) => new ServiceError('invalid_request', { message: `Send ${name} once.`, param: name });
