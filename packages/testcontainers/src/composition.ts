import { PostgreSqlContainer, type StartedPostgreSqlContainer } from '@testcontainers/postgresql';
import { GenericContainer, Network, type StartedTestContainer, Wait } from 'testcontainers';
import { AgentServiceContainer, type StartedAgentService } from './agent-service-container.ts';

export interface CompositionOptions {
  readonly postgresImage?: string;
  readonly redisImage?: string;
  /** The container of the system, with its settings and its model. */
  readonly service?: AgentServiceContainer;
}

/** A system with PostgreSQL and Redis in containers of their own, which a test can look into, stop and start. */
export interface Composition extends StartedAgentService {
  readonly postgres: StartedPostgreSqlContainer;
  readonly redis: StartedTestContainer;
}

const redisPort = 6379;

/** Starts PostgreSQL, Redis and the system in a network of their own. A start that fails leaves nothing. */
export async function startComposition({
  postgresImage = 'postgres:17-alpine',
  redisImage = 'redis:7-alpine',
  service = new AgentServiceContainer(),
}: CompositionOptions = {}): Promise<Composition> {
  const parts: { stop(): Promise<unknown> }[] = [];
  const keep: Keep = (part) => {
    parts.push(part);
    return part;
  };
  const stop = async () => {
    const failures: unknown[] = [];
    for (const part of parts.toReversed()) await part.stop().catch((cause: unknown) => void failures.push(cause));
    // A part that the test itself has stopped is gone.
    const failure = failures.find((cause) => (cause as { statusCode?: number }).statusCode !== 404);
    if (failure !== undefined) throw failure;
  };
  try {
    const network = keep(await new Network().start());
    const [postgres, redis] = await startServers(postgresImage, redisImage, network, keep);
    const credentials = `${postgres.getUsername()}:${postgres.getPassword()}`;
    const databaseUrl = `postgres://${credentials}@postgres:5432/${postgres.getDatabase()}?sslmode=disable`;
    const system = keep(await service.withServers(network, { databaseUrl, redisUrl: `redis://redis:${redisPort}` }).start());
    return { ...system, postgres, redis, stop };
  } catch (cause) {
    await stop().catch(() => undefined);
    throw cause;
  }
}

type Keep = <Part extends { stop(): Promise<unknown> }>(part: Part) => Part;

/** Starts both at once; when one fails, the other is registered first, so that `stop` stops it. */
async function startServers(postgresImage: string, redisImage: string, network: Awaited<ReturnType<Network['start']>>, keep: Keep) {
  const starts = [
    new PostgreSqlContainer(postgresImage)
      .withDatabase('agent_service')
      .withEnvironment({ POSTGRES_INITDB_ARGS: '--encoding=UTF8 --locale=C.UTF-8' })
      .withCommand(['postgres', '-c', 'fsync=off', '-c', 'max_connections=200'])
      .withNetwork(network)
      .withNetworkAliases('postgres')
      .start()
      .then(keep),
    new GenericContainer(redisImage)
      .withCommand(['redis-server', '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction', '--protected-mode', 'no'])
      .withExposedPorts(redisPort)
      .withWaitStrategy(Wait.forListeningPorts())
      .withNetwork(network)
      .withNetworkAliases('redis')
      .start()
      .then(keep),
  ] as const;
  await Promise.allSettled(starts);
  return [await starts[0], await starts[1]] as const;
}
