import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@agent-service/local/host/ports';
import { preparePostgres } from '@agent-service/local/postgres/server';
import { beginLife, waitUntilReady } from '@agent-service/local/processes/life';
import { onEnd } from './cleanup.ts';

export interface DurablePostgres {
  readonly url: string;
  readonly folder: string;
  stop(): Promise<void>;
}

/** A PostgreSQL of its own with the settings it has in production: every commit is on the disk before it is answered. */
export async function startDurablePostgres(): Promise<DurablePostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'durable-postgres-'));
  chmodSync(folder, 0o711);
  const spec = await preparePostgres({ folder: join(folder, 'postgres'), port: await freePort(), profile: 'durable', password: 'bench' });
  const log = join(folder, 'postgres.log');
  const life = await beginLife(spec, log);
  const stop = onEnd(async () => {
    await life.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  try {
    await waitUntilReady(spec, life, log, 30_000);
    return { url: spec.url, folder, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}
