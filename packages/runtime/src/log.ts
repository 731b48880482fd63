import { destination, type Logger as PinoLogger, pino } from 'pino';

export type Logger = PinoLogger;

const bufferBytes = 16_000;
const flushEveryMs = 200;

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
]);
const censored = '[redacted]';

const streams = new Set<{ flushSync(): void }>();
process.on('exit', () => {
  for (const stream of streams) stream.flushSync();
});

/**
 * Writes one JSON line for each event to standard output. Lines are buffered for at most 200 ms, because one write
 * for each line is a measurable part of a short request; they are flushed at exit.
 */
export function createLogger(name: string, level: string): Logger {
  const stream = destination({ dest: 1, sync: true, minLength: bufferBytes, periodicFlush: flushEveryMs });
  streams.add(stream);
  const base = { pid: process.pid, service: name };
  return pino({ level, base, timestamp: isoTime, formatters: { log: withoutSecrets } }, stream);
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

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
