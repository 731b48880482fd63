import { join } from 'node:path';
import { freePort } from '@agent-service/local/host/ports';
import { preparePostgres } from '@agent-service/local/postgres/server';
import { beginLife, type Life, waitUntilReady } from '@agent-service/local/processes/life';
import type { Ownership } from '@agent-service/local/processes/ownership';
import type { ServerSpec } from '@agent-service/local/processes/spec';
import { prepareRedis } from '@agent-service/local/redis/server';
import { redisDatabases, type StartedServers } from './settings.ts';

const readyLimitMs = 30_000;

/** PostgreSQL and Redis as processes of this machine; what was started is noted at once, so that a failure halfway leaves nothing. */
export async function startEmbedded(folder: string, ownership: Ownership): Promise<StartedServers> {
  const [postgres, redis] = await Promise.allSettled([startPostgres(folder, ownership), startRedis(folder, ownership)]);
  const started = [postgres, redis].flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const stop = async () => void (await Promise.all(started.map((server) => server.life.stop())));
  if (postgres.status === 'fulfilled' && redis.status === 'fulfilled')
    return { kind: 'embedded', postgresUrl: postgres.value.url, redisUrl: redis.value.url, stop };
  await stop();
  throw postgres.status === 'rejected' ? postgres.reason : (redis as PromiseRejectedResult).reason;
}

async function startPostgres(folder: string, ownership: Ownership): Promise<StartedServer> {
  const spec = await preparePostgres({
    folder: join(folder, 'postgres'),
    port: await freePort(),
    profile: 'throwaway',
    password: 'postgres',
  });
  return await startServer(spec, folder, ownership);
}

async function startRedis(folder: string, ownership: Ownership): Promise<StartedServer> {
  const spec = await prepareRedis({ folder: join(folder, 'redis'), port: await freePort(), databases: redisDatabases });
  return await startServer(spec, folder, ownership);
}

export interface StartedServer {
  readonly url: string;
  readonly life: Life;
}

export async function startServer(spec: ServerSpec, folder: string, ownership: Ownership): Promise<StartedServer> {
  const log = join(folder, `${spec.name}.log`);
  const life = await beginLife(spec, log);
  ownership.add(spec.name, life.pid, spec.stopSignal);
  try {
    await waitUntilReady(spec, life, log, readyLimitMs);
  } catch (cause) {
    await life.stop();
    throw cause;
  }
  return { url: spec.url, life };
}
