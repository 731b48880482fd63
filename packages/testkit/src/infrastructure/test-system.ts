import { freePort } from '@agent-service/local/host/ports';
import { type LocalOptions, type LocalSystem, startLocalSystem } from '@agent-service/local/system/system';
import { searchEnvironment, systemRedisKind } from './settings.ts';
import { testDatabase } from './test-database.ts';
import { testFolder } from './test-folder.ts';
import { testRedis } from './test-redis.ts';
import { testRedisCluster } from './test-redis-cluster.ts';

/**
 * The whole system in one call: all processes of the catalogue on a database and a key space of their own.
 * The settings are those of `npm start`. `stop` stops the processes and drops the database.
 */
export async function testSystem(
  settings: Readonly<Record<string, string>> = {},
  options: Partial<LocalOptions> = {},
): Promise<LocalSystem> {
  const [database, redis, folder, port] = await Promise.all([testDatabase(), redisOf(settings), testFolder(), freePort()]);
  const own = { DATA_DIR: folder, PORT: String(port), DATABASE_URL: database.url, REDIS_URL: redis.url, LOG_LEVEL: 'warn' };
  const leave = () => Promise.all([database.drop(), redis.stop()]);
  try {
    const system = await startLocalSystem({ env: { ...searchEnvironment, ...own, ...settings }, ...options });
    return {
      ...system,
      stop: () =>
        system
          .stop()
          .then(leave)
          .then(() => undefined),
    };
  } catch (cause) {
    await leave();
    throw cause;
  }
}

interface SystemRedis {
  readonly url: string;
  stop(): Promise<void>;
}

async function redisOf({ REDIS_URL: given }: Readonly<Record<string, string>>): Promise<SystemRedis> {
  const nothing = () => Promise.resolve();
  if (given !== undefined) return { url: given, stop: nothing };
  return systemRedisKind() === 'cluster' ? await testRedisCluster() : { ...(await testRedis()), stop: nothing };
}
