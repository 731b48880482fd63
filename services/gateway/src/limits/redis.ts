import type { RedisClient, RedisConnections } from '@agent-service/queues';
import { withTimeout } from '@agent-service/work';
import { takeScript } from './script.ts';

const answerLimitMs = 250;

export interface LimiterRedis {
  /** Runs the script over these counters: an answer within 250 ms, or a failure. */
  take(keys: readonly string[], args: readonly number[]): Promise<number[]>;
}

type Command = (...keysAndArguments: (string | number)[]) => Promise<number[]>;

export function createLimiterRedis(redis: Pick<RedisConnections, 'commands'>): LimiterRedis {
  return {
    take: (keys, args) =>
      withTimeout(
        commandFor(redis.commands, keys.length)(...keys, ...args),
        answerLimitMs,
        () => new Error('Redis took too long to count'),
      ),
  };
}

/** A command for each number of keys: only then does the client know where the keys are, which a cluster needs. */
function commandFor(client: RedisClient, numberOfKeys: number): Command {
  const name = `take${numberOfKeys}`;
  const commands = client as unknown as Record<string, Command | undefined>;
  if (!commands[name]) client.defineCommand(name, { numberOfKeys, lua: takeScript });
  return (commands[name] as Command).bind(client);
}
