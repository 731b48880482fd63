import { Cluster, type ClusterOptions, Redis } from 'ioredis';
import type { Topology } from './mode.ts';
import type { RedisNode } from './nodes.ts';
import { type ConnectionOptions, leaveReadOnly, nodeOptions, purposeOptions, reconnectPause } from './options.ts';

export type RedisClient = Redis | Cluster;

export interface ClientOptions {
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
  };
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
