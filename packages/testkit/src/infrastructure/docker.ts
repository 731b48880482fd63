import { hostname } from 'node:os';
import { serverSettings } from '@agent-service/local/postgres/cluster';
import { isAlive, markOf } from '@agent-service/local/processes/process-mark';
import { withTimeout } from '@agent-service/work';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import { type ContainerRuntimeClient, GenericContainer, getContainerRuntimeClient, ImageName, Wait } from 'testcontainers';
import { disableRyukByDefault, images, redisDatabases, type StartedServers } from './settings.ts';

const redisPort = 6379;
const engineLimitMs = 5000;
const pullLimitMs = 90_000;
const runLabel = 'agent-service.test-run';

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

/** An engine may serve several machines; only this one's processes can be seen here. */
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

/** The engine, once it has answered and has the images, or an error that says which of them it is. */
async function engineWithImages(): Promise<ContainerRuntimeClient> {
  disableRyukByDefault();
  const client = await withTimeout(getContainerRuntimeClient(), engineLimitMs, () => new Error('the engine does not answer'));
  for (const name of [images.postgres, images.redis]) await haveImage(client, ImageName.fromString(name));
  return client;
}

async function haveImage(client: ContainerRuntimeClient, image: ImageName): Promise<void> {
  if (await client.image.exists(image)) return;
  await withTimeout(
    client.image.pull(image),
    pullLimitMs,
    () => new Error(`${image.string} could not be pulled within ${pullLimitMs / 1000} s`),
  );
}

/** Removes the containers of the given runs, whatever state they are in. */
async function removeContainers(client: ContainerRuntimeClient, isOurs: (run: string) => boolean): Promise<void> {
  const labelled = await client.container.dockerode.listContainers({ all: true, filters: { label: [runLabel] } });
  const ours = labelled.filter((container) => isOurs(container.Labels[runLabel] ?? ''));
  await Promise.all(ours.map((container) => client.container.getById(container.Id).remove({ force: true, v: true })));
}
