import { Cluster, type ClusterOptions, Redis, type RedisOptions, SentinelConnector } from 'ioredis';
import type { RedisNode } from './settings.ts';
import type { Topology } from './topology.ts';

export type RedisClient = Redis | Cluster;

interface ClientOptions {
  readonly purpose: 'commands' | 'worker';
  readonly commandLimitMs: number;
}

export function createRedisClient(nodes: readonly RedisNode[], topology: Topology, client: ClientOptions): RedisClient {
  const primary = nodes[0] as RedisNode;
  const options: ConnectionOptions = {
    ...purposeOptions(client.purpose, client.commandLimitMs),
    reconnectOnError: leaveReadOnly,
    retryStrategy: reconnectPause,
  };
  switch (topology.mode) {
    case 'single':
      return new Redis({ ...nodeOptions(primary), ...options });
    case 'sentinel':
      return new Redis({ ...sentinelOptions(nodes, topology.master), ...options });
    case 'cluster':
      return new Cluster(
        nodes.map(({ host, port }) => ({ host, port })),
        clusterOptions(primary, client),
      );
  }
}

/**
 * One connection to one server, of a cluster to any of its nodes: each of them hears everything that is published. It does
 * not connect again by itself, since its owner has to know of every gap and may be better off with another node.
 */
export function createSubscriber(nodes: readonly RedisNode[], topology: Topology, commands: RedisClient): Redis {
  const node = nodes[0] as RedisNode;
  const place = {
    single: () => nodeOptions(node),
    sentinel: () => sentinelOptions(nodes, topology.master),
    cluster: () => nodeOptions({ ...node, ...anyAddress(nodes, commands), db: 0 }),
  }[topology.mode]();
  return new Redis({ ...place, ...purposeOptions('subscriber'), lazyConnect: true, retryStrategy: () => null });
}

/** Of the nodes that the cluster has now; of those in REDIS_URL while it is not reached. */
function anyAddress(nodes: readonly RedisNode[], commands: RedisClient): Pick<RedisNode, 'host' | 'port'> {
  const present = commands instanceof Cluster ? commands.nodes('all').map(({ options }) => options) : [];
  const known = present.flatMap(({ host, port }) => (host && port ? [{ host, port }] : []));
  const choice = known.length > 0 ? known : nodes;
  return choice[Math.floor(Math.random() * choice.length)] as RedisNode;
}

function sentinelOptions(nodes: readonly RedisNode[], name: string): ConnectionOptions {
  const { host: _host, port: _port, tls, ...shared } = nodeOptions(nodes[0] as RedisNode);
  return {
    ...shared,
    ...(tls ? { tls, sentinelTLS: tls, enableTLSForSentinelMode: true } : {}),
    ...(shared.username === undefined ? {} : { sentinelUsername: shared.username }),
    ...(shared.password === undefined ? {} : { sentinelPassword: shared.password }),
    sentinels: nodes.map(({ host, port }) => ({ host, port })),
    name,
    sentinelRetryStrategy: reconnectPause,
    failoverDetector: true,
    Connector: RecoveringSentinelConnector as ConnectorConstructor,
  };
}

type ConnectorConstructor = NonNullable<ConnectionOptions['Connector']>;

/**
 * The library's watcher of a connection that has ended goes on listening for failovers. One that it hears of while the client looks for
 * the new primary would end the client for good (ioredis 6.0.0), so it is stopped before each new connection.
 */
class RecoveringSentinelConnector extends SentinelConnector {
  override connect(...given: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    this.disconnect();
    return super.connect(...given);
  }
}

const slotsRefreshLimitMs = 2_000;
/** Of one command, each 100 ms apart: about as long as a caller of commands waits; a worker waits as long as it takes. */
const redirections = { commands: 5, worker: 1_000 };

function clusterOptions(node: RedisNode, { purpose, commandLimitMs }: ClientOptions) {
  const { host: _host, port: _port, db: _db, ...shared } = nodeOptions(node);
  const { enableOfflineQueue = true, autoResendUnfulfilledCommands: _resend, ...own } = purposeOptions(purpose, commandLimitMs);
  return {
    redisOptions: { ...shared, ...own },
    enableOfflineQueue,
    maxRedirections: redirections[purpose],
    clusterRetryStrategy: reconnectPause,
    slotsRefreshTimeout: slotsRefreshLimitMs,
  } satisfies ClusterOptions;
}

/** Without what only the types of ioredis mind. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

type Purpose = 'commands' | 'subscriber' | 'worker';

const connectLimitMs = 2_000;
/** For what is written already, before a connection that is no longer wanted is cut. */
const partingLimitMs = 250;
/** How long a command may take, unless a test is more patient. */
export const usualCommandLimitMs = 500;
/** Without a word for so long after a question, the other side has silently vanished. A worker waits up to 10 s for a job. */
const silenceLimitMs = { commands: 2_000, worker: 15_000 };
const pauseStepMs = 100;
const longestPauseMs = 1_000;

export const reconnectPause = (attempt: number): number => Math.min(attempt * pauseStepMs, longestPauseMs);

/** How one node is reached, whatever for. */
export function nodeOptions({ host, port, username, password, db, tls }: RedisNode): ConnectionOptions {
  return {
    host,
    port,
    db,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: { servername: host } } : {}),
    connectTimeout: connectLimitMs,
    disconnectTimeout: partingLimitMs,
  };
}

/** How long the user of a connection waits, by its purpose. */
function purposeOptions(purpose: Purpose, commandLimitMs = usualCommandLimitMs): ConnectionOptions {
  switch (purpose) {
    case 'commands':
      // Answered soon or failed: the caller has another way.
      return {
        enableOfflineQueue: false,
        commandTimeout: commandLimitMs,
        socketTimeout: silenceLimitMs.commands,
        maxRetriesPerRequest: 0,
        autoResendUnfulfilledCommands: false,
      };
    case 'subscriber':
      return { commandTimeout: connectLimitMs, maxRetriesPerRequest: 0, autoResubscribe: false };
    case 'worker':
      // Outlives every outage: what a worker has to say to Redis is said when Redis is back.
      return { maxRetriesPerRequest: null, socketTimeout: silenceLimitMs.worker };
  }
}

/** After a failover a former primary refuses writes: the next connection finds the new one. */
const leaveReadOnly = (cause: Error): boolean => cause.message.startsWith('READONLY');
