import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@agent-service/contracts';
import { readBytes } from './body-bytes.ts';
import { type BodyLimits, emptyBodyBytes } from './body-limits.ts';
import { checkJsonShape } from './json-shape.ts';
import { parsePairs } from './pairs.ts';

export type BodyType = 'json' | 'form';

export const contentTypes: Record<BodyType, string> = { json: 'application/json', form: 'application/x-www-form-urlencoded' };

/** The body of a request, parsed but not yet validated; undefined when there is none. */
export async function readBody(request: IncomingMessage, type: BodyType, limits: BodyLimits): Promise<unknown> {
  if (!hasBody(request)) return undefined;
  checkMediaType(request, contentTypes[type]);
  const bytes = await readBytes(request, limits);
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes))
    throw new ServiceError(type === 'json' ? 'invalid_json' : 'invalid_request', { message: 'The body is not valid UTF-8.' });
  if (type === 'form') return parsePairs(bytes.toString());
  checkJsonShape(bytes, limits.values);
  return parseJson(bytes.toString());
}

/** Whether there was a body where none is known; an empty one, or `{}` as many clients send, is none. */
export async function refuseBody(request: IncomingMessage, { withinMs }: BodyLimits): Promise<boolean> {
  if (!hasBody(request)) return false;
  const bytes = await readBytes(request, { bytes: emptyBodyBytes, withinMs }).catch((cause: unknown) => {
    throw ServiceError.from(cause).code === 'payload_too_large' ? unknownBody() : cause;
  });
  if (bytes.length > 0 && !/^\s*\{\s*\}\s*$/.test(bytes.toString('latin1'))) throw unknownBody();
  return true;
}

const unknownBody = () => new ServiceError('invalid_request', { message: 'Nothing is known here that a body could say; send none.' });

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function checkMediaType({ headers }: IncomingMessage, expected: string): void {
  const [mediaType = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  if (mediaType.trim() !== expected || (charset && !/^charset="?utf-8"?$/.test(charset))) {
    throw new ServiceError('unsupported_media_type', { message: `Send the body with Content-Type: ${expected}.` });
  }
  const encoding = headers['content-encoding'];
  if (encoding && encoding.toLowerCase() !== 'identity')
    throw new ServiceError('unsupported_media_type', { message: 'Send the body without Content-Encoding.' });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold secrets.
    throw new ServiceError('invalid_json');
  }
}
