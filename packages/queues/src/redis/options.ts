import type { RedisOptions } from 'ioredis';
import type { RedisNode } from './nodes.ts';

/** Without what only the types of ioredis mind. */
export type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

export type Purpose = 'commands' | 'subscriber' | 'worker';

const connectLimitMs = 2_000;
/** For what is written already, before a connection that is no longer wanted is cut. */
const partingLimitMs = 250;
/** How long a command may take, unless a test is more patient. */
export const usualCommandLimitMs = 500;
/** Without a word for so long after a question, the other side has silently vanished. A worker waits up to 10 s for a job. */
const silenceLimitMs = { commands: 2_000, worker: 15_000 };
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
    disconnectTimeout: partingLimitMs,
  };
}

/** How long the user of a connection waits, by its purpose. */
export function purposeOptions(purpose: Purpose, commandLimitMs = usualCommandLimitMs): ConnectionOptions {
  switch (purpose) {
    case 'commands':
      // Answered soon or failed: the caller has another way.
      return {
        enableOfflineQueue: false,
        commandTimeout: commandLimitMs,
        socketTimeout: silenceLimitMs.commands,
        maxRetriesPerRequest: 0,
        autoResendUnfulfilledCommands: false,
      };
    case 'subscriber':
      return { commandTimeout: connectLimitMs, maxRetriesPerRequest: 0, autoResubscribe: false };
    case 'worker':
      // Outlives every outage: what a worker has to say to Redis is said when Redis is back.
      return { maxRetriesPerRequest: null, socketTimeout: silenceLimitMs.worker };
  }
}

/** After a failover a former primary refuses writes: the next connection finds the new one. */
export const leaveReadOnly = (cause: Error): boolean => cause.message.startsWith('READONLY');
