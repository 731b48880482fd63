import type { BatchFailure } from '@agent-service/work';
import { type ErrorCode, errorCodes } from './error-codes.ts';

export interface FieldError {
  param: string;
  message: string;
}

interface Failure {
  /** The sentence for the caller; without it the code's own. */
  message?: string | undefined;
  /** Path of the offending field, as `data_scope.tables[0]`. */
  param?: string | undefined;
  /** Values for programs; sent to the caller. */
  details?: Record<string, unknown> | undefined;
  /** The underlying error; goes to the log only. */
  cause?: unknown;
}

/**
 * The one error that crosses service boundaries. Every other thrown value becomes `internal`. An error has at most 8 kB in a gRPC
 * trailer, because a larger one would end the connection and every call on it.
 */
export class ServiceError<Code extends ErrorCode = ErrorCode> extends Error {
  override name = 'ServiceError';
  readonly code: Code;
  readonly param: string | null;
  readonly details: Record<string, unknown>;

  constructor(code: Code, failure: Failure = {}) {
    const { message, param, details } = boundError(failure.message ?? errorCodes[code].message, failure.param, failure.details);
    super(message, { cause: failure.cause });
    this.code = code;
    this.param = param;
    this.details = details;
  }

  get definition() {
    return errorCodes[this.code];
  }

  static from(cause: unknown): ServiceError {
    return cause instanceof ServiceError ? cause : new ServiceError('internal', { cause });
  }
}

/** Several faulty fields at once: the first is named, the first 20 are listed, the rest is counted. */
export function invalidFields(errors: readonly FieldError[]): ServiceError {
  const first = errors[0];
  return new ServiceError('invalid_request', { message: first?.message, param: first?.param, details: { errors } });
}

/** A message that its service always sends, although the wire format could leave it out. */
export function required<Message>(message: Message | null | undefined): Message {
  if (message === null || message === undefined)
    throw new ServiceError('internal', { cause: new Error('a service left out a part of its answer') });
  return message;
}

const awayCodes: readonly string[] = ['unavailable', 'deadline_exceeded', 'cancelled'] satisfies ErrorCode[];

/** True if the called service could not be reached or did not answer in time: it is not known whether the call has had an effect. */
export const isAway = (code: string): boolean => awayCodes.includes(code);

/**
 * Decides if the items of a failed call may succeed one by one. They may where the call was too large or refused because of one item, and may
 * not where the service is away.
 */
export const classifyCallFailure = (cause: unknown): BatchFailure => (isAway(ServiceError.from(cause).code) ? 'all' : 'item');

/** The most field errors that one error lists; how many more there are stands beside them. */
const maxFieldErrors = 20;
/** In bytes of JSON. Base64 in a gRPC trailer and the plain message beside it keep within 8 kB, which every HTTP/2 peer accepts. */
const maxErrorBytes = 5_000;
const maxMessageBytes = 1_000;
const maxParamBytes = 300;

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

interface BoundedError {
  readonly message: string;
  readonly param: string | null;
  readonly details: Record<string, unknown>;
}

/** An error within the limits: lists keep their first entries, and `<name>_omitted` counts the rest. A value that JSON cannot hold is left out. */
function boundError(message: string, param: string | undefined, details: Record<string, unknown> | undefined): BoundedError {
  const bounded = { message: cutText(message, maxMessageBytes), param: param === undefined ? null : cutText(param, maxParamBytes) };
  if (details === undefined) return { ...bounded, details: {} };
  return { ...bounded, details: boundDetails(details, maxErrorBytes - jsonBytes(bounded)) };
}

/** The text as JSON of at most so many bytes, cut between two characters. */
export function cutText(text: string, maxBytes: number): string {
  // A unit has a byte at least, so what lies beyond cannot fit; and no character of the rest is cut in half before the limit is met.
  const start = text.slice(0, maxBytes + 1);
  if (start.length === text.length && jsonBytes(text) <= maxBytes) return text.toWellFormed();
  let result = '';
  let room = maxBytes - jsonBytes('…');
  for (const character of start.toWellFormed()) {
    room -= jsonBytes(character) - 2;
    if (room < 0) break;
    result += character;
  }
  return `${result}…`;
}

function boundDetails(details: Record<string, unknown>, maxBytes: number): Record<string, unknown> {
  const entries = new Map<string, unknown>();
  let room = maxBytes;
  for (const [name, value] of Object.entries(details)) {
    if (entries.has(name)) continue;
    for (const [part, bounded] of Array.isArray(value) ? boundList(name, value, details, room) : [[name, boundValue(value)] as const]) {
      const bytes = sizeOf(part, bounded);
      if (bytes > room) continue;
      room -= bytes;
      entries.set(part, bounded);
    }
  }
  return Object.fromEntries(entries);
}

const boundValue = (value: unknown) => (typeof value === 'string' ? cutText(value, maxMessageBytes) : value);

/** The first entries of the list, and how many there are beyond them, those included that an earlier bound left out. */
function boundList(name: string, list: readonly unknown[], details: Record<string, unknown>, room: number): [string, unknown][] {
  const omitted = `${name}_omitted`;
  const before = details[omitted];
  const entries: unknown[] = [];
  let left = room - sizeOf(name, []) - sizeOf(omitted, Number.MAX_SAFE_INTEGER);
  for (const entry of name === 'errors' ? list.slice(0, maxFieldErrors) : list) {
    const bounded = name === 'errors' ? boundFieldError(entry) : boundValue(entry);
    left -= sizeOf('', bounded);
    if (left < 0) break;
    entries.push(bounded);
  }
  const rest = list.length - entries.length + (typeof before === 'number' ? before : 0);
  return rest > 0
    ? [
        [name, entries],
        [omitted, rest],
      ]
    : [[name, entries]];
}

function boundFieldError(entry: unknown): unknown {
  const { param, message } = (entry ?? {}) as { param?: unknown; message?: unknown };
  if (typeof param !== 'string' || typeof message !== 'string') return entry;
  return { param: cutText(param, maxParamBytes), message: cutText(message, maxMessageBytes) };
}

/** The bytes of the entry in JSON with its name and separators; infinite for a value that JSON cannot hold. */
function sizeOf(name: string, value: unknown): number {
  try {
    return value === undefined || typeof value === 'function' || typeof value === 'symbol'
      ? Number.POSITIVE_INFINITY
      : jsonBytes(name) + jsonBytes(value) + 2;
  } catch {
    // A cycle or a bigint.
    return Number.POSITIVE_INFINITY;
  }
}
