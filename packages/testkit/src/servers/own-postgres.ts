import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@agent-service/local/host/ports';
import { preparePostgres } from '@agent-service/local/postgres/server';
import { beginLife, type Life, waitUntilReady } from '@agent-service/local/processes/life';
import { testFolder } from '../infrastructure/run-folder.ts';

/** A PostgreSQL that a test may stop and start again; what it has committed, it keeps. */
export interface OwnPostgres {
  readonly url: string;
  start(): Promise<void>;
  /** The server is gone: connections are refused. */
  stop(): Promise<void>;
  remove(): Promise<void>;
}

const startLimitMs = 30_000;

export interface OwnPostgresOptions {
  /** Asked before each start, with the folder of the cluster. */
  readonly beforeStart?: (folder: string) => void;
}

export async function ownPostgres({ beforeStart }: OwnPostgresOptions = {}): Promise<OwnPostgres> {
  const folder = await testFolder();
  const data = join(folder, 'data');
  const spec = await preparePostgres({ folder: data, port: await freePort(), profile: 'throwaway', password: 'postgres' });
  const log = join(folder, 'log');
  let life: Life | undefined;
  const server: OwnPostgres = {
    url: spec.url,
    async start() {
      beforeStart?.(data);
      life = await beginLife(spec, log);
      await waitUntilReady(spec, life, log, startLimitMs);
    },
    async stop() {
      await life?.stop();
      life = undefined;
    },
    async remove() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}
