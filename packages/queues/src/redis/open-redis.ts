import type { ProcessContext } from '@agent-service/runtime';
import type { Redis } from 'ioredis';
import { createRedisClient, createSubscriber, type RedisClient, reconnectPause, usualCommandLimitMs } from './clients.ts';
import { reported } from './outage.ts';
import { parseNodes, type RedisConfig, type RedisNode } from './settings.ts';
import { askTopology, type Topology } from './topology.ts';

const startLimitMs = 2_000;

export interface RedisConnections {
  /**
   * For commands that must answer soon or fail: never queued while Redis is away. Take it anew for each command: until it is
   * known what kind of Redis there is, it stands for none that could answer.
   */
  readonly commands: RedisClient;
  /** How long a command may take. */
  readonly commandLimitMs: number;
  /** What the servers are, once one of them has answered; at once where REDIS_MODE says. */
  readonly topology: Promise<Topology>;
  /** A new connection to one server that hears what is published; it does not connect again by itself. Asked for when `topology` is known. */
  dedicated(purpose: 'subscriber'): Redis;
  /** A new connection that outlasts every outage. Asked for when `topology` is known. */
  dedicated(purpose: 'worker'): RedisClient;
}

/** Connects to Redis and waits a moment for it, so that what comes first is not refused; without Redis the process starts all the same. */
export async function openRedis(
  process: ProcessContext,
  config: RedisConfig,
  { commandLimitMs = usualCommandLimitMs }: { readonly commandLimitMs?: number } = {},
): Promise<RedisConnections> {
  const nodes = parseNodes(config.REDIS_URL);
  const keep = keepUntilStop(process);
  const startedAt = performance.now();
  const known = await topologyAtStart(process, nodes, config);
  let topology = known ?? unknown;
  const connect = () => reported(process, 'commands', keep(createRedisClient(nodes, topology, { purpose: 'commands', commandLimitMs })));
  let commands = connect();
  const learn = (found: Topology): Topology => {
    const provisional = commands;
    const changed = found.mode !== topology.mode;
    topology = found;
    if (changed) commands = connect();
    if (changed) provisional.disconnect();
    return found;
  };
  if (known) await firstConnection(commands, startLimitMs - (performance.now() - startedAt));
  const subscriber = () => keep(createSubscriber(nodes, topology, commands));
  const worker = () => reported(process, 'worker', keep(createRedisClient(nodes, topology, { purpose: 'worker', commandLimitMs })));
  function dedicated(purpose: 'subscriber'): Redis;
  function dedicated(purpose: 'worker'): RedisClient;
  function dedicated(purpose: 'subscriber' | 'worker'): RedisClient {
    return purpose === 'subscriber' ? subscriber() : worker();
  }
  return {
    get commands() {
      return commands;
    },
    commandLimitMs,
    topology: known ? Promise.resolve(known) : keepAsking(process, nodes, config).then(learn),
    dedicated,
  };
}

/** What one server is taken for until it has said what it is: its commands fail then, and are asked for again. */
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

async function topologyAtStart(process: ProcessContext, nodes: readonly RedisNode[], config: RedisConfig): Promise<Topology | undefined> {
  const told = topologyTold(config);
  if (told) return told;
  try {
    return await ask(nodes, config);
  } catch (cause) {
    process.logger.warn({ event: 'redis_away', purpose: 'topology', err: cause });
    return undefined;
  }
}

function topologyTold({ REDIS_MODE: mode, REDIS_SENTINEL_MASTER: master }: RedisConfig): Topology | undefined {
  if (mode === 'single' || mode === 'cluster') return { mode, master: '' };
  return mode === 'sentinel' && master !== undefined ? { mode, master } : undefined;
}

async function ask(nodes: readonly RedisNode[], { REDIS_MODE, REDIS_SENTINEL_MASTER }: RedisConfig): Promise<Topology> {
  const found = await askTopology(nodes, REDIS_SENTINEL_MASTER);
  if (REDIS_MODE === 'sentinel' && found.mode !== 'sentinel')
    throw new Error('REDIS_MODE is sentinel, and REDIS_URL does not name sentinels');
  return found;
}

/** Never settles once the process stops: nobody is left who would use the answer. */
function keepAsking(process: ProcessContext, nodes: readonly RedisNode[], config: RedisConfig): Promise<Topology> {
  return new Promise((resolve) => {
    const attempt = async (count: number): Promise<void> => {
      if (process.stopping.aborted) return;
      try {
        const found = await ask(nodes, config);
        process.logger.info({ event: 'redis_back', purpose: 'topology', mode: found.mode });
        resolve(found);
      } catch (cause) {
        process.logger.debug({ event: 'redis_away', purpose: 'topology', err: cause });
        setTimeout(() => void attempt(count + 1), reconnectPause(count));
      }
    };
    void attempt(1);
  });
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
