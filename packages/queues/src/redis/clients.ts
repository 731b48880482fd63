import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { ProcessContext } from '@agent-service/runtime';
import { Cluster, type ClusterOptions, Redis, type RedisOptions, SentinelConnector } from 'ioredis';
import type { RedisNode } from './settings.ts';

/** The kind of the servers behind REDIS_URL. */
export interface Topology {
  readonly mode: 'single' | 'sentinel' | 'cluster';
  /** The name of the primary that the sentinels watch; empty without sentinels. */
  readonly master: string;
}

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
        clusterOptions(nodes, client),
      );
  }
}

/**
 * One connection to one server, in a cluster to any node, because each receives everything that is published. It does not
 * reconnect by itself: its owner must know of every gap, and may choose another node.
 */
export function createSubscriber(nodes: readonly RedisNode[], topology: Topology, commands: RedisClient): Redis {
  const node = nodes[0] as RedisNode;
  const target = {
    single: () => nodeOptions(node),
    sentinel: () => sentinelOptions(nodes, topology.master),
    cluster: () => ({ ...nodeOptions({ ...node, ...chooseAddress(nodes, commands), db: 0 }), ...groupTls(nodes) }),
  }[topology.mode]();
  return new Redis({ ...target, ...purposeOptions('subscriber'), lazyConnect: true, retryStrategy: () => null });
}

/** A node that the cluster has now, or one of REDIS_URL while the cluster is not reached. */
function chooseAddress(nodes: readonly RedisNode[], commands: RedisClient): Pick<RedisNode, 'host' | 'port'> {
  const present = commands instanceof Cluster ? commands.nodes('all').map(({ options }) => options) : [];
  const known = present.flatMap(({ host, port }) => (host && port ? [{ host, port }] : []));
  const choice = known.length > 0 ? known : nodes;
  return choice[Math.floor(Math.random() * choice.length)] as RedisNode;
}

/**
 * Sentinels and clusters name servers that REDIS_URL does not, often by addresses that are in no certificate. A server may show a certificate of
 * the host at which it was reached, or of any host of REDIS_URL. Without a `servername`, which the library would give to all servers, Node passes
 * the former.
 */
function groupTls(nodes: readonly RedisNode[]): Pick<ConnectionOptions, 'tls'> {
  const check = (reached: string, certificate: PeerCertificate) => {
    const faults = [reached, ...nodes.map(({ host }) => host)].map((host) => checkServerIdentity(host, certificate));
    return faults.includes(undefined) ? undefined : faults[0];
  };
  return nodes[0]?.tls ? { tls: { checkServerIdentity: check } } : {};
}

function sentinelOptions(nodes: readonly RedisNode[], name: string): ConnectionOptions {
  const { host: _host, port: _port, tls: _tls, ...shared } = nodeOptions(nodes[0] as RedisNode);
  const { tls } = groupTls(nodes);
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
 * The library's watcher of a connection that has ended goes on listening for failovers (ioredis 6.0.0). It would keep its connections to the
 * sentinels for good where the client does not reconnect, and would end a client that looks for the new primary. So it ends with its connection.
 */
class RecoveringSentinelConnector extends SentinelConnector {
  override async connect(...options: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    const stream = await super.connect(...options);
    return stream.once('close', () => {
      const watcher = watcherOf(this);
      // A second end would start timers that nothing clears.
      if (watcher && !watcher.isDisconnected) watcher.cleanup();
    });
  }
}

interface FailoverWatcher {
  readonly isDisconnected: boolean;
  cleanup(): void;
}

const watcherOf = (connector: SentinelConnector) =>
  (connector as unknown as { readonly failoverDetector: FailoverWatcher | null }).failoverDetector;

const slotsRefreshLimitMs = 2_000;
/** Redirections of one command, each 100 ms apart: callers of commands wait for half a second, workers for as long as it takes. */
const redirections = { commands: 5, worker: 1_000 };

function clusterOptions(nodes: readonly RedisNode[], { purpose, commandLimitMs }: ClientOptions) {
  const { host: _host, port: _port, db: _db, ...shared } = nodeOptions(nodes[0] as RedisNode);
  const { enableOfflineQueue = true, autoResendUnfulfilledCommands: _resend, ...own } = purposeOptions(purpose, commandLimitMs);
  return {
    redisOptions: { ...shared, ...own, ...groupTls(nodes) },
    enableOfflineQueue,
    maxRedirections: redirections[purpose],
    clusterRetryStrategy: reconnectPause,
    slotsRefreshTimeout: slotsRefreshLimitMs,
  } satisfies ClusterOptions;
}

/** Without an option that only the types of ioredis require. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

type Purpose = 'commands' | 'subscriber' | 'worker';

const connectLimitMs = 2_000;
/** Time for data that is written already, before a connection is closed. */
const disconnectLimitMs = 250;
/** How long a command may take, unless a test is more patient. */
export const usualCommandLimitMs = 500;
/** A server that has not answered for this long counts as lost. A worker waits up to 10 s for a job. */
const silenceLimitMs = { commands: 2_000, worker: 15_000 };
const pauseStepMs = 100;
const maxPauseMs = 1_000;

export const reconnectPause = (attempt: number): number => Math.min(attempt * pauseStepMs, maxPauseMs);

/** The options of every connection to one node. */
export function nodeOptions({ host, port, username, password, db, tls }: RedisNode): ConnectionOptions {
  return {
    host,
    port,
    db,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: { servername: host } } : {}),
    connectTimeout: connectLimitMs,
    disconnectTimeout: disconnectLimitMs,
  };
}

/** How long the user of a connection waits, by its purpose. */
function purposeOptions(purpose: Purpose, commandLimitMs = usualCommandLimitMs): ConnectionOptions {
  switch (purpose) {
    case 'commands':
      // Answered soon or failed: callers have a fallback.
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
      // Survives every outage: a worker's commands are sent when Redis is back.
      return { maxRetriesPerRequest: null, socketTimeout: silenceLimitMs.worker };
  }
}

/** After a failover a former primary refuses writes: the next connection finds the new one. */
const leaveReadOnly = (cause: Error): boolean => cause.message.startsWith('READONLY');

const words =
  /Connection is closed|Command timed out|max retries per request|Failed to refresh slots|None of startup nodes|CLUSTERDOWN|LOADING|READONLY|UNBLOCKED|Too many Cluster redirections|isn't ready|Stream isn't writeable/i;

/** True for errors that say only that Redis is away for now. */
export function isOutage(cause: Error): boolean {
  return 'syscall' in cause || words.test(cause.message);
}

/** Logs one line when Redis goes away and one when it is back, however often the client reconnects in between. */
export function reportOutages<Client extends RedisClient>({ logger }: ProcessContext, purpose: string, client: Client): Client {
  let away = false;
  client.on('error', (cause: Error) => {
    if (!away) logger.warn({ event: 'redis_away', purpose, err: cause });
    away = true;
  });
  client.on('ready', () => {
    if (away) logger.info({ event: 'redis_back', purpose });
    away = false;
  });
  return client;
}
