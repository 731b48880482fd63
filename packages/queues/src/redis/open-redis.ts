import type { ProcessContext } from '@agent-service/runtime';
import type { Redis } from 'ioredis';
import { createRedisClient, createSubscriber, type RedisClient, reportOutages, type Topology, usualCommandLimitMs } from './clients.ts';
import { parseNodes, type RedisConfig } from './settings.ts';
import { findTopology, waitForTopology } from './topology.ts';

const startLimitMs = 2_000;

export interface RedisConnections {
  /**
   * For commands that must answer soon or fail: they are not queued while Redis is away. Read it for each command: until the kind
   * of Redis is known, it is a client whose commands fail.
   */
  readonly commands: RedisClient;
  /** How long a command may take. */
  readonly commandLimitMs: number;
  /** The kind of the servers, once one of them has answered; at once if REDIS_MODE names it. */
  readonly topology: Promise<Topology>;
  /** A new connection for subscriptions to one server, which does not reconnect by itself. Call it when `topology` is known. */
  openSubscriber(): Redis;
  /** A new connection for one worker, which survives every outage. Call it when `topology` is known. */
  openWorkerConnection(): RedisClient;
}

/** Connects to Redis and waits up to 2 s, so that the first commands succeed. Without Redis the process starts as well. */
export async function openRedis(
  process: ProcessContext,
  config: RedisConfig,
  { commandLimitMs = usualCommandLimitMs }: { readonly commandLimitMs?: number } = {},
): Promise<RedisConnections> {
  const nodes = parseNodes(config.REDIS_URL);
  const keep = keepUntilStop(process);
  const startedAt = performance.now();
  const known = await findTopology(process, nodes, config);
  let topology = known ?? unknown;
  const connect = () =>
    reportOutages(process, 'commands', keep(createRedisClient(nodes, topology, { purpose: 'commands', commandLimitMs })));
  let commands = connect();
  const learn = (next: Topology): Topology => {
    const provisional = commands;
    const changed = next.mode !== topology.mode;
    topology = next;
    if (changed) commands = connect();
    if (changed) provisional.disconnect();
    return next;
  };
  if (known) await firstConnection(commands, startLimitMs - (performance.now() - startedAt));
  return {
    get commands() {
      return commands;
    },
    commandLimitMs,
    topology: known ? Promise.resolve(known) : waitForTopology(process, nodes, config).then(learn),
    openSubscriber: () => keep(createSubscriber(nodes, topology, commands)),
    openWorkerConnection: () =>
      reportOutages(process, 'worker', keep(createRedisClient(nodes, topology, { purpose: 'worker', commandLimitMs }))),
  };
}

/** Assumed until a server has answered: commands fail until then, and their callers repeat them. */
const unknown: Topology = { mode: 'single', master: '' };

function keepUntilStop(process: ProcessContext): <Client extends RedisClient>(client: Client) => Client {
  const clients = new Set<RedisClient>();
  process.onStop('redis', async () => {
    for (const client of clients) client.disconnect();
  });
  return (client) => {
    clients.add(client);
    client.once('end', () => clients.delete(client));
    return client;
  };
}

function firstConnection(client: RedisClient, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.max(0, limitMs));
    client.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
