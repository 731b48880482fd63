import { withTimeout } from '@agent-service/work';
import { Redis } from 'ioredis';
import { nodeOptions, type Topology } from './clients.ts';
import type { RedisNode } from './settings.ts';

const askLimitMs = 1_500;

/** Asks the nodes for their kind; the first answer counts. Rejects with one node's reason when none answers. */
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
