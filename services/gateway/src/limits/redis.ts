import type { ProcessContext } from '@agent-service/runtime';
import { Redis } from 'ioredis';
import { takeScript } from './script.ts';

const answerLimitMs = 250;
const startLimitMs = 2_000;
const longestPauseMs = 1_000;
const pauseStepMs = 100;

export interface LimiterRedis {
  /** Runs the script over these counters. */
  take(keys: readonly string[], args: readonly number[]): Promise<number[]>;
}

type Command = (...keysAndArguments: (string | number)[]) => Promise<number[]>;

/**
 * A connection that never makes a request wait: no queue while Redis is away, an answer within 250 ms or a failure.
 * Waits a moment for Redis at the start, so that the first requests are counted there.
 */
export async function connectRedis(process: ProcessContext, url: string): Promise<LimiterRedis> {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    commandTimeout: answerLimitMs,
    connectTimeout: startLimitMs,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * pauseStepMs, longestPauseMs),
  });
  process.onStop('redis', async () => redis.disconnect());
  reportOutages(process, redis);
  await firstConnection(redis);
  const commands = new Map<number, Command>();
  return {
    take(keys, args) {
      const command = commands.get(keys.length) ?? defineTake(redis, keys.length);
      commands.set(keys.length, command);
      return command(...keys, ...args);
    },
  };
}

/** A command for each number of keys: only then does the client know where the keys are, which a cluster needs. */
function defineTake(redis: Redis, numberOfKeys: number): Command {
  const name = `take${numberOfKeys}`;
  redis.defineCommand(name, { numberOfKeys, lua: takeScript });
  const command = (redis as unknown as Record<string, Command>)[name] as Command;
  return command.bind(redis);
}

/** One line when Redis goes and one when it comes, however often the connection is tried in between. */
function reportOutages({ logger }: ProcessContext, redis: Redis): void {
  let away = false;
  redis.on('error', (cause: Error) => {
    if (!away) logger.warn({ event: 'redis_away', err: cause });
    away = true;
  });
  redis.on('ready', () => {
    if (away) logger.info({ event: 'redis_back' });
    away = false;
  });
}

function firstConnection(redis: Redis): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, startLimitMs);
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
