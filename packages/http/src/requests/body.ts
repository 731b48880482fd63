import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@agent-service/contracts';
import { findJsonFault } from './json-fault.ts';
import { parsePairs } from './pairs.ts';

/** Limits of a route's body, checked before it is parsed. */
export interface BodyLimits {
  readonly bytes: number;
  /** How many names and values JSON may hold: what parsing, validating and comparing cost grows with these more than with bytes. */
  readonly values: number;
  /** How long the whole of it may take to arrive. */
  readonly withinMs: number;
}

const kibibyte = 1024;
const withinMs = 60_000;

export const bodyLimits = {
  /** For token requests, which need no credential. */
  token: { bytes: 8 * kibibyte, values: 100, withinMs: 10_000 },
  /** For a few fields. */
  usual: { bytes: 64 * kibibyte, values: 1_000, withinMs },
  /** A text of 32,000 characters, each of up to twelve bytes in JSON's escapes, and a context of 16 KiB which may be all numbers. */
  message: { bytes: 512 * kibibyte, values: 10_000, withinMs },
  /** Instructions of 32,000 characters and a scope of 200 tables with their columns. */
  agent: { bytes: 1024 * kibibyte, values: 1_000, withinMs },
} as const satisfies Record<string, BodyLimits>;

/** For routes without a body: many clients send an empty object. */
const emptyBodyBytes = kibibyte;

type BodyType = 'json' | 'form';

export const contentTypes: Record<BodyType, string> = { json: 'application/json', form: 'application/x-www-form-urlencoded' };

/** The body of a request, parsed but not yet validated; undefined when there is none. */
export async function readBody(request: IncomingMessage, type: BodyType, limits: BodyLimits): Promise<unknown> {
  if (!hasBody(request)) return undefined;
  const { 'transfer-encoding': encoding, 'content-type': mediaType } = request.headers;
  const mayBeEmpty = encoding !== undefined && mediaType === undefined;
  if (!mayBeEmpty) checkMediaType(request, contentTypes[type]);
  const bytes = await readBytes(request, limits);
  if (bytes.length === 0) return undefined;
  if (mayBeEmpty) checkMediaType(request, contentTypes[type]);
  if (!isUtf8(bytes))
    throw new ServiceError(type === 'json' ? 'invalid_json' : 'invalid_request', { message: 'The body is not valid UTF-8.' });
  if (type === 'form') return parsePairs(bytes.toString());
  checkJsonShape(bytes, limits.values);
  return parseJson(bytes.toString());
}

/** Refuses a body where the route has none; an empty one, or `{}` as many clients send, is accepted. Returns false if there was none. */
export async function refuseBody(request: IncomingMessage, { withinMs }: BodyLimits): Promise<boolean> {
  if (!hasBody(request)) return false;
  const bytes = await readBytes(request, { bytes: emptyBodyBytes, withinMs }).catch((cause: unknown) => {
    throw ServiceError.from(cause).code === 'payload_too_large' ? unknownBody() : cause;
  });
  if (bytes.length > 0 && !/^\s*\{\s*\}\s*$/.test(bytes.toString('latin1'))) throw unknownBody();
  return true;
}

const unknownBody = () => new ServiceError('invalid_request', { message: 'This path takes no body. Send none.' });

function hasBody({ headers }: IncomingMessage): boolean {
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
    throw new ServiceError('invalid_json', { message: findJsonFault(text) });
  }
}

/** Each piece costs a few hundred bytes beside its own, and a chunked body may come in pieces of one byte. */
const maxPieces = 4_000;

/** The body as it was sent. It stops reading at the limit; the rest of a refused body is discarded with the reply. */
export function readBytes(request: IncomingMessage, { bytes, withinMs }: Omit<BodyLimits, 'values'>): Promise<Buffer> {
  const inTooManyPieces = () => new ServiceError('invalid_request', { message: `Send the body in at most ${maxPieces} chunks.` });
  const tooLarge = () => new ServiceError('payload_too_large', { message: `The body is larger than ${bytes} bytes.` });
  if (Number(request.headers['content-length'] ?? 0) > bytes) return Promise.reject(tooLarge());
  // The sender disconnected earlier, so no event will follow.
  if (request.destroyed) return Promise.reject(new ServiceError('cancelled'));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > bytes) settle(() => reject(tooLarge()));
      else if (chunks.push(chunk) > maxPieces) settle(() => reject(inTooManyPieces()));
    };
    const onEnd = () => settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    const onClose = () => settle(() => reject(new ServiceError('cancelled')));
    const timer = setTimeout(() => settle(() => reject(new ServiceError('request_timeout'))), withinMs);
    const settle = (outcome: () => void) => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause();
      outcome();
    };
    request.on('data', onData).on('end', onEnd).on('close', onClose);
    // An error is always followed by 'close'.
    request.on('error', () => undefined);
  });
}

/** Deeper than any valid body, and shallow enough for recursive code. */
const maxDepth = 64;

const quote = 0x22;
const backslash = 0x5c;

/** By byte: true if it separates names or values, and the change of the nesting depth. */
const separators = new Uint8Array(256);
for (const character of ',:') separators[character.charCodeAt(0)] = 1;
const nesting = new Int8Array(256);
for (const character of '[{') nesting[character.charCodeAt(0)] = 1;
for (const character of ']}') nesting[character.charCodeAt(0)] = -1;

/**
 * Counts names, values and nesting in one pass over the bytes, and refuses what has too many before a parser makes objects of it.
 * The parser checks the syntax later.
 */
export function checkJsonShape(json: Uint8Array, maxValues: number): void {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number;
    if (byte === quote) at = endOfText(json, at);
    values += separators[byte] as number;
    depth += nesting[byte] as number;
    if (values > maxValues) throw bodyError(`holds more than ${maxValues} names and values`);
    if (depth > maxDepth) throw bodyError(`is nested deeper than ${maxDepth} levels`);
  }
}

const bodyError = (fault: string) => new ServiceError('invalid_request', { message: `The body ${fault}.` });

/** The index of the quote that ends the string which begins here. */
function endOfText(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}
