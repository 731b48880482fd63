import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { freePort } from '@agent-service/local/host/ports';
import { catalogue } from '@agent-service/local/system/catalogue';
import type { LocalOptions, LocalSystem } from '@agent-service/local/system/system';
import { testFolder } from '../infrastructure/run-folder.ts';
import { hasPooler, machineEnvironment, sharedInfrastructure, systemRedisKind, testBuild } from '../infrastructure/settings.ts';
import { testDatabase } from '../servers/test-database.ts';
import { testPooler } from '../servers/test-pooler.ts';
import { testRedis } from '../servers/test-redis.ts';
import { testRedisCluster } from '../servers/test-redis-cluster.ts';

/** Settings with limits that no test reaches by accident. */
export const withoutRateLimits: Readonly<Record<string, string>> = Object.fromEntries(
  ['READS', 'WRITES', 'MESSAGES', 'END_USER_MESSAGES', 'TOKENS', 'FAILED_AUTHENTICATIONS'].map((kind) => [
    `RATE_LIMIT_${kind}_PER_MINUTE`,
    '1000000',
  ]),
);

/** Allows the databases of tests as data sources: with servers in containers, and tests in a container themselves, they are beyond loopback. */
export async function dataSourceNetworks(): Promise<Readonly<Record<string, string>>> {
  const { address } = await lookup(new URL(sharedInfrastructure().postgresUrl).hostname);
  return { DATA_SOURCE_ALLOWED_NETWORKS: `127.0.0.0/8,::1/128,${address}/${isIPv6(address) ? 128 : 32}` };
}

/**
 * The whole system in one call: the processes of the catalogue on a database and a key space of their own, the portal only where
 * `options.catalogue` has it. The settings are those of `npm start`. `stop` stops the processes and drops the database.
 */
export async function testSystem(
  settings: Readonly<Record<string, string>> = {},
  options: Partial<LocalOptions> = {},
): Promise<LocalSystem> {
  const [database, redis, own] = await Promise.all([testDatabase(), redisOf(settings), ownSettings()]);
  const pooler = hasPooler ? await testPooler(database.url) : undefined;
  const servers = { DATABASE_URL: database.url, REDIS_URL: redis.url, ...(pooler && { DATABASE_POOLER: pooler.address }) };
  const leave = async () => {
    // Its sessions would keep the database from being dropped.
    await pooler?.stop();
    await Promise.all([database.drop(), redis.stop()]);
  };
  try {
    const system = await startSystem({
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
  return await startSystem({ env, build: testBuild, postgresProfile: 'crash-safe', ...options });
}

/** Loaded with the first system: it takes a quarter of a second, and most test files start none. */
async function startSystem(options: LocalOptions): Promise<LocalSystem> {
  const { startLocalSystem } = await import('@agent-service/local/system/system');
  return await startLocalSystem({ catalogue: withoutPortal, ...options });
}

/** Few suites use the portal's process, and it costs a tenth of the start of a system. */
const withoutPortal = catalogue.filter(({ name }) => name !== 'portal');

const ownSettings = async () => ({
  DATA_DIR: await testFolder(),
  PORT: String(await freePort()),
  PORTAL_PORT: String(await freePort()),
  LOG_LEVEL: 'warn',
  ...(await dataSourceNetworks()),
});

interface SystemRedis {
  readonly url: string;
  stop(): Promise<void>;
}

async function redisOf({ REDIS_URL: url }: Readonly<Record<string, string>>): Promise<SystemRedis> {
  const nothing = () => Promise.resolve();
  if (url !== undefined) return { url, stop: nothing };
  return systemRedisKind() === 'cluster' ? await testRedisCluster() : { ...(await testRedis()), stop: nothing };
}
