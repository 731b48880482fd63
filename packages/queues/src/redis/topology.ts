import type { ProcessContext } from '@agent-service/runtime';
import { withTimeout } from '@agent-service/work';
import { Redis } from 'ioredis';
import { nodeOptions, reconnectPause, type Topology } from './clients.ts';
import type { RedisConfig, RedisNode } from './settings.ts';

/** The kind that the settings name, or that a server tells; undefined while none answers. */
export async function findTopology(
  process: ProcessContext,
  nodes: readonly RedisNode[],
  config: RedisConfig,
): Promise<Topology | undefined> {
  const configured = configuredTopology(config);
  if (configured) return configured;
  try {
    return await ask(nodes, config);
  } catch (cause) {
    process.logger.warn({ event: 'redis_away', purpose: 'topology', err: cause });
    return undefined;
  }
}

function configuredTopology({ REDIS_MODE: mode, REDIS_SENTINEL_MASTER: master }: RedisConfig): Topology | undefined {
  if (mode === 'single' || mode === 'cluster') return { mode, master: '' };
  return mode === 'sentinel' && master !== undefined ? { mode, master } : undefined;
}

async function ask(nodes: readonly RedisNode[], { REDIS_MODE, REDIS_SENTINEL_MASTER }: RedisConfig): Promise<Topology> {
  const topology = await askTopology(nodes, REDIS_SENTINEL_MASTER);
  if (REDIS_MODE === 'sentinel' && topology.mode !== 'sentinel')
    throw new Error('REDIS_MODE is sentinel, and REDIS_URL does not name sentinels');
  return topology;
}

/** Asks until a server answers. Stays pending once the process stops. */
export function waitForTopology(process: ProcessContext, nodes: readonly RedisNode[], config: RedisConfig): Promise<Topology> {
  return new Promise((resolve) => {
    const attempt = async (count: number): Promise<void> => {
      if (process.stopping.aborted) return;
      try {
        const topology = await ask(nodes, config);
        process.logger.info({ event: 'redis_back', purpose: 'topology', mode: topology.mode });
        resolve(topology);
      } catch (cause) {
        process.logger.debug({ event: 'redis_away', purpose: 'topology', err: cause });
        setTimeout(() => void attempt(count + 1), reconnectPause(count));
      }
    };
    void attempt(1);
  });
}

const askLimitMs = 1_500;

/** Asks the nodes for their kind; the first reply counts. Rejects with one node's reason when none answers. */
export async function askTopology(nodes: readonly RedisNode[], master: string | undefined): Promise<Topology> {
  try {
    return await Promise.any(nodes.map((node) => askNode(node, master)));
  } catch (cause) {
    throw cause instanceof AggregateError ? cause.errors[0] : cause;
  }
}

async function askNode(node: RedisNode, master: string | undefined): Promise<Topology> {
  const client = new Redis({ ...nodeOptions(node), lazyConnect: true, retryStrategy: () => null, enableReadyCheck: false, db: 0 });
  let reason: Error | undefined;
  client.on('error', (cause: Error) => {
    reason = cause;
  });
  const ask = async () => {
    await client.connect();
    const mode = modeIn(await client.info('server'));
    return { mode, master: mode === 'sentinel' ? (master ?? (await onlyMaster(client))) : '' };
  };
  try {
    return await withTimeout(ask(), askLimitMs, () => new Error(`no answer within ${askLimitMs} ms`));
  } catch (cause) {
    throw reason ?? cause;
  } finally {
    client.disconnect();
  }
}

/** Servers that report no mode (proxies, managed Redis) are treated as a single server. */
function modeIn(info: string): Topology['mode'] {
  const mode = /^redis_mode:(\w+)/m.exec(info)?.[1];
  return mode === 'cluster' || mode === 'sentinel' ? mode : 'single';
}

async function onlyMaster(sentinel: Redis): Promise<string> {
  const masters = (await sentinel.call('SENTINEL', 'MASTERS')) as unknown[];
  const names = masters.map((fields) => nameIn(fields));
  if (names.length === 1 && names[0] !== undefined) return names[0];
  throw new Error(`the sentinels watch over ${names.length} primaries (${names.join(', ')}): set REDIS_SENTINEL_MASTER to one of them`);
}

function nameIn(fields: unknown): string | undefined {
  if (!Array.isArray(fields)) return undefined;
  const at = fields.indexOf('name');
  return at < 0 ? undefined : String(fields[at + 1]);
}
