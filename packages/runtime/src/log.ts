import { destination, type Logger as PinoLogger, pino, type SerializedError, stdSerializers } from 'pino';

export type Logger = PinoLogger;

const bufferBytes = 16_000;
const flushEveryMs = 200;
/** Lines that cannot be written wait up to this size; further ones are dropped. */
const waitingBytes = 1024 * 1024;

/** Names of fields that may hold a secret; their values are never written. */
const secretNames = new Set([
  'authorization',
  'api_key',
  'apiKey',
  'client_secret',
  'clientSecret',
  'access_token',
  'accessToken',
  'token',
  'password',
  'secret',
  'reply_channel',
  'replyChannel',
  'worker_channel',
  'workerChannel',
]);
const censored = '[redacted]';

const streams = new Set<{ end(): void }>();
process.on('exit', () => {
  // Not flushSync, which repeats a write that fails: with a full disk the process would not end.
  for (const stream of streams) stream.end();
});

/**
 * Writes one JSON line for each event to standard output. Lines are buffered for at most 200 ms, because one write
 * for each line is a measurable part of a short request; they are flushed at exit. While they cannot be written, as on a
 * full disk, the process works on, and the next flush tries again.
 */
export function createLogger(name: string, level: string): Logger {
  const stream = destination({ dest: 1, sync: true, minLength: bufferBytes, maxLength: waitingBytes, periodicFlush: flushEveryMs });
  // There is no other place to report it; without a listener it would end the process.
  stream.on('error', () => undefined);
  streams.add(stream);
  const base = { pid: process.pid, service: name };
  return pino({ level, base, timestamp: isoTime, formatters: { log: withoutSecrets }, serializers: { err: describeError } }, stream);
}

const isoTime = () => `,"time":"${new Date().toISOString()}"`;

/** Replaces secrets at any depth. Most events are flat, so looking at each name is cheap. Errors have a serializer of their own. */
export function withoutSecrets(event: Record<string, unknown>): Record<string, unknown> {
  let clean = event;
  for (const name in event) {
    const value = event[name];
    const replaced = secretNames.has(name) ? censored : isPlainObject(value) ? withoutSecrets(value) : value;
    if (replaced === value) continue;
    if (clean === event) clean = { ...event };
    clean[name] = replaced;
  }
  return clean;
}

/** Characters of each text of an error, and of each error that it combines: other servers choose how long they are. */
const maxTextLength = 8_000;
const maxInnerTextLength = 1_000;
const maxErrors = 10;

/** Fields of PostgreSQL's errors that repeat a row or a statement. */
const fieldsWithData = new Set(['detail', 'where', 'internalQuery']);

/**
 * An error with its causes, in some tens of kilobytes at most and without what the failed call sent: clients attach it to their errors, as that
 * of Redis attaches the command with its arguments, which for the first one of a connection are the password.
 */
export function describeError(cause: unknown): unknown {
  const described: unknown = stdSerializers.err(cause as Error);
  if (described === cause) return cause;
  const error = described as SerializedError;
  const several = (error['aggregateErrors'] as SerializedError[] | undefined)
    ?.filter((each) => each instanceof Object)
    .slice(0, maxErrors)
    .map((each) => withoutData(each, maxInnerTextLength));
  return { ...withoutData(error, maxTextLength), ...(several && { aggregateErrors: several }) };
}

/** Its texts, numbers and flags, without the errors that it combines. */
function withoutData(described: SerializedError, maxLength: number): Record<string, unknown> {
  const isSafe = ([name, value]: [string, unknown]) => typeof value !== 'object' && !fieldsWithData.has(name) && !secretNames.has(name);
  const shorten = (value: unknown) => (typeof value === 'string' ? value.slice(0, maxLength).toWellFormed() : value);
  const safe = Object.entries(described).filter(isSafe);
  return Object.fromEntries(safe.map(([name, value]) => [name, shorten(value)]));
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
