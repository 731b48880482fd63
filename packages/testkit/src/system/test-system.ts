import { freePort } from '@agent-service/local/host/ports';
import { type LocalOptions, type LocalSystem, startLocalSystem } from '@agent-service/local/system/system';
import { testFolder } from '../infrastructure/run-folder.ts';
import { machineEnvironment, systemRedisKind, testBuild } from '../infrastructure/settings.ts';
import { testDatabase } from '../servers/test-database.ts';
import { testRedis } from '../servers/test-redis.ts';
import { testRedisCluster } from '../servers/test-redis-cluster.ts';

/** Settings of a system whose limits no test means to meet. */
export const withoutRateLimits: Readonly<Record<string, string>> = Object.fromEntries(
  ['READS', 'WRITES', 'MESSAGES', 'END_USER_MESSAGES', 'TOKENS', 'FAILED_AUTHENTICATIONS'].map((kind) => [
    `RATE_LIMIT_${kind}_PER_MINUTE`,
    '1000000',
  ]),
);

/**
 * The whole system in one call: all processes of the catalogue on a database and a key space of their own.
 * The settings are those of `npm start`. `stop` stops the processes and drops the database.
 */
export async function testSystem(
  settings: Readonly<Record<string, string>> = {},
  options: Partial<LocalOptions> = {},
): Promise<LocalSystem> {
  const [database, redis, own] = await Promise.all([testDatabase(), redisOf(settings), ownSettings()]);
  const servers = { DATABASE_URL: database.url, REDIS_URL: redis.url };
  const leave = () => Promise.all([database.drop(), redis.stop()]);
  try {
    const system = await startLocalSystem({
      build: testBuild,
      env: { ...machineEnvironment, ...own, ...servers, ...settings },
      ...options,
    });
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

/** The whole system with a PostgreSQL and a Redis of its own, which a test may stop and kill: what was committed survives that. */
export async function testSystemWithServers(
  settings: Readonly<Record<string, string>> = {},
  options: Partial<LocalOptions> = {},
): Promise<LocalSystem> {
  const env = { ...machineEnvironment, ...(await ownSettings()), ...settings };
  return await startLocalSystem({ env, build: testBuild, postgresProfile: 'crash-safe', ...options });
}

const ownSettings = async () => ({ DATA_DIR: await testFolder(), PORT: String(await freePort()), LOG_LEVEL: 'warn' });

interface SystemRedis {
  readonly url: string;
  stop(): Promise<void>;
}

async function redisOf({ REDIS_URL: url }: Readonly<Record<string, string>>): Promise<SystemRedis> {
  const nothing = () => Promise.resolve();
  if (url !== undefined) return { url, stop: nothing };
  return systemRedisKind() === 'cluster' ? await testRedisCluster() : { ...(await testRedis()), stop: nothing };
}
