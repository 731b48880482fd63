import { join } from 'node:path';
import { freePort } from '@agent-service/local/host/ports';
import type { Life } from '@agent-service/local/processes/life';
import { takeFolder } from '@agent-service/local/processes/ownership';
import { prepareRedis } from '@agent-service/local/redis/server';
import { startServer } from '../infrastructure/embedded.ts';
import { testFolder } from '../infrastructure/run-folder.ts';

/** A Redis that one test file may flush, stop and start again at the same address. */
export interface OwnRedis {
  readonly url: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Started already. Always a process of this machine: a container could not be stopped and started in milliseconds. */
export async function ownRedis(): Promise<OwnRedis> {
  const folder = await testFolder();
  const ownership = await takeFolder(folder);
  const spec = await prepareRedis({ folder: join(folder, 'redis'), port: await freePort() });
  let life: Life | undefined;
  const redis: OwnRedis = {
    url: spec.url,
    start: async () => {
      life ??= (await startServer(spec, folder, ownership)).life;
    },
    stop: async () => {
      await life?.stop();
      life = undefined;
    },
  };
  await redis.start();
  return redis;
}
