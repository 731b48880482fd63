import { destination, type Logger as PinoLogger, pino } from 'pino';

export type Logger = PinoLogger;

const bufferBytes = 4096;
const flushEveryMs = 200;

/** Names under which a secret could travel; whatever stands there is never written. */
const secretPaths = [
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
];
const redact = { paths: secretPaths.flatMap((path) => [path, `*.${path}`, `*.*.${path}`]), censor: '[redacted]' };

/**
 * One JSON line an event on standard output. Lines are buffered for at most 200 ms, because a write a line
 * is a measurable part of a short request; they are flushed at exit.
 */
export function createLogger(name: string, level: string): Logger {
  const stream = destination({ dest: 1, sync: true, minLength: bufferBytes });
  setInterval(() => stream.flushSync(), flushEveryMs).unref();
  process.on('exit', () => stream.flushSync());
  return pino({ level, redact, base: { pid: process.pid, service: name }, timestamp: isoTime }, stream);
}

const isoTime = () => `,"time":"${new Date().toISOString()}"`;
