import type { RedisOptions } from 'ioredis';
import type { RedisNode } from './nodes.ts';

/** Without what only the types of ioredis mind. */
export type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

export type Purpose = 'commands' | 'subscriber' | 'worker';

const connectLimitMs = 2_000;
const commandLimitMs = 500;
/** Longer than a worker's longest wait for a job (10 s). Ends a connection whose other side has silently vanished. */
const silenceLimitMs = 15_000;
const pauseStepMs = 100;
const longestPauseMs = 1_000;

export const reconnectPause = (attempt: number): number => Math.min(attempt * pauseStepMs, longestPauseMs);

/** How one node is reached, whatever for. */
export function nodeOptions({ host, port, username, password, db, tls }: RedisNode): ConnectionOptions {
  return {
    host,
    port,
    db,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: { servername: host } } : {}),
    connectTimeout: connectLimitMs,
  };
}

/** How long whoever uses the connection is willing to wait. */
export function purposeOptions(purpose: Purpose): ConnectionOptions {
  switch (purpose) {
    case 'commands':
      // Answered soon or failed: whoever asks has another way.
      return { enableOfflineQueue: false, commandTimeout: commandLimitMs, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false };
    case 'subscriber':
      return { commandTimeout: connectLimitMs, maxRetriesPerRequest: 0, autoResubscribe: false };
    case 'worker':
      // Outlives every outage: what a worker has to say to Redis is said when Redis is back.
      return { maxRetriesPerRequest: null, socketTimeout: silenceLimitMs };
  }
}

/** After a failover a former primary refuses writes: the next connection finds the new one. */
export const leaveReadOnly = (cause: Error): boolean => cause.message.startsWith('READONLY');
