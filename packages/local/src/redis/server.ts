import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { withTimeout } from '@agent-service/work';
import { Redis } from 'ioredis';
import { writeFileAtomically } from '../host/files.ts';
import { outputTo, type ServerSpec } from '../processes/spec.ts';
import { findRedis } from './find-redis.ts';

interface RedisOptions {
  readonly folder: string;
  readonly port: number;
  /** Without a password every local process has access: for tests only. */
  readonly password?: string;
  /** The number of logical databases; 16 unless given. */
  readonly databases?: number;
  /** Further lines of its configuration. */
  readonly directives?: readonly string[];
  /** Runs it as a sentinel, which watches over other servers and holds no data. */
  readonly sentinel?: boolean;
}

/** The spec of a Redis that keeps nothing on disk, because all its content can be rebuilt. */
export async function prepareRedis({
  folder,
  port,
  password,
  databases = 16,
  directives = [],
  sentinel = false,
}: RedisOptions): Promise<ServerSpec> {
  const binary = await findRedis();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const settings: Record<string, string> = {
    port: String(port),
    bind: '127.0.0.1',
    save: '""',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
    databases: String(databases),
    dir: JSON.stringify(folder),
    ...(password === undefined ? {} : { requirepass: password }),
  };
  // In a file and not on the command line, where every user of the machine could read the password.
  const file = join(folder, 'redis.conf');
  const lines = [...Object.entries(settings).map((entry) => entry.join(' ')), ...directives];
  writeFileAtomically(file, lines.map((line) => `${line}\n`).join(''));
  const url = `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`;
  const options = sentinel ? [file, '--sentinel'] : [file];
  return {
    name: 'redis',
    url,
    spawn: (log) => spawn(binary.path, options, { env: { ...binary.env }, cwd: '/', detached: true, stdio: outputTo(log) }),
    isReady: () => answersPing(url),
    stopSignal: 'SIGTERM',
    stopLimitMs: 5000,
  };
}

/** Asks once if a Redis answers at this URL. */
async function answersPing(url: string): Promise<boolean> {
  return await pingRedis(url).then(
    () => true,
    () => false,
  );
}

const pingLimitMs = 3000;

/** Rejects with the reason when no Redis answers at this URL. */
async function pingRedis(url: string): Promise<void> {
  let reason: Error | undefined;
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: pingLimitMs,
    disconnectTimeout: 20,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // The promise rejects with a closed connection only; the reason arrives here.
  client.on('error', (cause: Error) => {
    reason = cause;
  });
  try {
    await withTimeout(
      client.connect().then(() => client.ping()),
      pingLimitMs,
      () => new Error(`no answer within ${pingLimitMs} ms`),
    );
  } catch (cause) {
    throw reason ?? cause;
  } finally {
    client.disconnect();
  }
}
