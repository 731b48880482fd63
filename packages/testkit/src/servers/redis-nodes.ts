import { join } from 'node:path';
import { freePort } from '@agent-service/local/host/ports';
import type { Life } from '@agent-service/local/processes/life';
import { type Ownership, takeFolder } from '@agent-service/local/processes/ownership';
import { signalGroup } from '@agent-service/local/processes/process-mark';
import { prepareRedis } from '@agent-service/local/redis/server';
import { Redis } from 'ioredis';
import { startServer } from '../infrastructure/embedded.ts';
import { testFolder } from '../infrastructure/run-folder.ts';

/** One of several servers that belong together. */
export interface RedisProcess {
  readonly port: number;
  /** A client for the commands of the test itself. */
  readonly client: Redis;
  /** Kills it, so that clients get no notice, as after a power cut. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface RedisFleet {
  start(options: { readonly directives: readonly string[]; readonly sentinel?: boolean }): Promise<RedisProcess>;
  stop(): Promise<void>;
}

/** Starts servers in a folder of their own. */
export async function redisFleet(): Promise<RedisFleet> {
  const folder = await testFolder();
  const ownership = await takeFolder(folder);
  const started: RedisProcess[] = [];
  return {
    async start(options) {
      const node = await startNode(folder, ownership, options);
      started.push(node);
      return node;
    },
    stop: async () => void (await Promise.all(started.map((node) => node.stop()))),
  };
}

async function startNode(
  folder: string,
  ownership: Ownership,
  { directives, sentinel = false }: { readonly directives: readonly string[]; readonly sentinel?: boolean },
): Promise<RedisProcess> {
  const port = await freePort();
  const name = `redis-${port}`;
  const spec = { ...(await prepareRedis({ folder: join(folder, name), port, directives, sentinel })), name };
  const { url, life } = await startServer(spec, folder, ownership);
  const client = new Redis(url, {
    maxRetriesPerRequest: 0,
    disconnectTimeout: 20,
    retryStrategy: (attempt) => Math.min(attempt * 50, 500),
  });
  // The test may have killed the server: a command to it then rejects by itself.
  client.on('error', () => undefined);
  return { port, client, kill: () => killNode(life, client), stop: () => stopNode(life, client) };
}

async function killNode(life: Life, client: Redis): Promise<void> {
  client.disconnect();
  signalGroup(life.pid, 'SIGKILL', 'group');
  await life.ended;
}

async function stopNode(life: Life, client: Redis): Promise<void> {
  client.disconnect();
  await life.stop();
}
