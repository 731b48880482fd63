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
/** As the embedded server of the tests: a source without a password can log in, too. */
const accessRules = { target: '/pg_hba.conf', content: 'local all all trust\nhost all all all trust\n', mode: 0o644 };

/** PostgreSQL and Redis in containers. Every container carries this run's mark, by which it is removed even if the run died. */
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
  const locations = { listen_addresses: '*', unix_socket_directories: '/var/run/postgresql', hba_file: accessRules.target };
  const settings = Object.entries({ ...serverSettings.throwaway, ...locations });
  const container = await new PostgreSqlContainer(images.postgres)
    .withDatabase('postgres')
    .withUsername('postgres')
    .withPassword('postgres')
    .withEnvironment({ POSTGRES_INITDB_ARGS: '--encoding=UTF8 --locale=C.UTF-8' })
    .withTmpFs({ '/var/lib/postgresql/data': 'rw' })
    .withLabels({ [runLabel]: run })
    .withCopyContentToContainer([accessRules])
    .withCommand(['postgres', ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])])
    .start();
  // Where the tests run in a container themselves, the engine's host is another host: a data source there has to name its encryption.
  return `${container.getConnectionUri()}?sslmode=disable`;
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

/** Removes the containers of the given runs, in any state. */
async function removeContainers(client: ContainerRuntimeClient, isOurs: (run: string) => boolean): Promise<void> {
  const labelled = await client.container.dockerode.listContainers({ all: true, filters: { label: [runLabel] } });
  const ours = labelled.filter((container) => isOurs(container.Labels[runLabel] ?? ''));
  await Promise.all(ours.map((container) => client.container.getById(container.Id).remove({ force: true, v: true })));
}
