import { hostname } from 'node:os';
import { serverSettings } from '@agent-service/local/postgres/cluster';
import { isAlive, markOf } from '@agent-service/local/processes/process-mark';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import { GenericContainer, Wait } from 'testcontainers';
import { engineWithImages, removeContainers, runLabel } from './docker-engine.ts';
import { redisDatabases } from './redis-databases.ts';
import { images } from './settings.ts';
import type { StartedServers } from './started.ts';

const redisPort = 6379;

/** PostgreSQL and Redis in containers. Every container carries this run's mark, by which it is removed whatever happened to the run. */
export async function startDocker(): Promise<StartedServers> {
  const client = await engineWithImages();
  await removeContainers(client, isDeadRun);
  const run = currentRun();
  const stop = () => removeContainers(client, (other) => other === run);
  try {
    const [postgres, redis] = await Promise.all([startPostgres(run), startRedisContainer(run)]);
    return { kind: 'docker', postgresUrl: postgres, redisUrl: redis, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

function currentRun(): string {
  const mark = markOf(process.pid);
  return [hostname(), mark?.pid, mark?.startTime].join('/');
}

/** An engine may serve several machines; only this one's processes can be judged here. */
function isDeadRun(run: string): boolean {
  const [host, pid, startTime] = run.split('/');
  return host === hostname() && !isAlive({ pid: Number(pid), startTime: startTime ?? '' });
}

async function startPostgres(run: string): Promise<string> {
  const settings = Object.entries({ ...serverSettings.throwaway, listen_addresses: '*', unix_socket_directories: '/var/run/postgresql' });
  const container = await new PostgreSqlContainer(images.postgres)
    .withDatabase('postgres')
    .withUsername('postgres')
    .withPassword('postgres')
    .withEnvironment({ POSTGRES_INITDB_ARGS: '--encoding=UTF8 --locale=C.UTF-8' })
    .withTmpFs({ '/var/lib/postgresql/data': 'rw' })
    .withLabels({ [runLabel]: run })
    .withCommand(['postgres', ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])])
    .start();
  return container.getConnectionUri();
}

async function startRedisContainer(run: string): Promise<string> {
  const container = await new GenericContainer(images.redis)
    .withCommand(['redis-server', '--save', '', '--appendonly', 'no', '--databases', String(redisDatabases), '--protected-mode', 'no'])
    .withExposedPorts(redisPort)
    .withLabels({ [runLabel]: run })
    .withWaitStrategy(Wait.forListeningPorts())
    .start();
  return `redis://${container.getHost()}:${container.getMappedPort(redisPort)}`;
}
