import { freePort } from '@agent-service/local/ports';
import { type LocalOptions, type LocalSystem, startLocalSystem } from '@agent-service/local/system';
import { searchEnvironment } from './settings.ts';
import { testDatabase } from './test-database.ts';
import { testFolder } from './test-folder.ts';
import { testRedis } from './test-redis.ts';

/**
 * The whole system in one call: all processes of the catalogue on a database and a key space of their own.
 * The settings are those of `npm start`. `stop` stops the processes and drops the database.
 */
export async function testSystem(
  settings: Readonly<Record<string, string>> = {},
  options: Partial<LocalOptions> = {},
): Promise<LocalSystem> {
  const [database, redis, folder, port] = await Promise.all([testDatabase(), testRedis(), testFolder(), freePort()]);
  const own = { DATA_DIR: folder, PORT: String(port), DATABASE_URL: database.url, REDIS_URL: redis.url, LOG_LEVEL: 'warn' };
  try {
    const system = await startLocalSystem({ env: { ...searchEnvironment, ...own, ...settings }, ...options });
    return { ...system, stop: () => system.stop().then(database.drop) };
  } catch (cause) {
    await database.drop();
    throw cause;
  }
}
