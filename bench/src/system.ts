import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '@agent-service/local/host/environment';
import { freePort } from '@agent-service/local/host/ports';
import { seed } from '@agent-service/local/seed';
import { removeData } from '@agent-service/local/system/remove-data';
import { type LocalSystem, startLocalSystem } from '@agent-service/local/system/system';
import { onEnd } from './cleanup.ts';

/** Measured is the build, which `npm run bench` makes first. */
const build = realpathSync(join(repositoryRoot, '.cache', 'build', 'current'));

/** The file that Node runs for a service. */
export const bundleOf = (service: string): string => join(build, `${service}.js`);

export interface BenchSystem {
  system: LocalSystem;
  key: string;
  organizationId: string;
  dataDir: string;
  stop(): Promise<void>;
}

/** The whole system as `npm start` runs it (durable PostgreSQL, default logs), in a folder of its own, with limits out of the way. */
export async function startBenchSystem(settings: Record<string, string> = {}): Promise<BenchSystem> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-service-bench-'));
  // As root, PostgreSQL runs as another user and must get through to its cluster.
  chmodSync(folder, 0o711);
  const limits = Object.fromEntries(
    ['READS', 'WRITES', 'MESSAGES', 'TOKENS', 'FAILED_AUTHENTICATIONS'].map((what) => [`RATE_LIMIT_${what}_PER_MINUTE`, '1000000']),
  );
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...inherited } = process.env;
  const ending = new AbortController();
  const starting = startLocalSystem({
    signal: ending.signal,
    build,
    env: { ...inherited, ...limits, DATA_DIR: folder, PORT: String(await freePort()), PORTAL_PORT: String(await freePort()), ...settings },
    seed,
  });
  const stop = onEnd(async () => {
    ending.abort();
    const running = await starting.catch(() => undefined);
    await running?.stop();
    await removeData(folder);
    rmSync(folder, { recursive: true, force: true });
  });
  const system = await starting.catch(async (cause: unknown) => {
    await stop();
    throw cause;
  });
  const credentials = JSON.parse(readFileSync(join(folder, 'credentials.json'), 'utf8')) as {
    organization_id: string;
    api_keys: { live: string };
  };
  return {
    system,
    key: credentials.api_keys.live,
    organizationId: credentials.organization_id,
    dataDir: folder,
    stop,
  };
}
