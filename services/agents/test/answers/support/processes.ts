import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from '@agent-service/testkit';
import { until } from './wired.ts';

export const secret = 'a-service-secret-that-is-long-enough';
const readyLimitMs = 30_000;

/** A service as `npm start` runs it; it keeps its address over its lives. */
export interface ServiceProcess {
  readonly address: string;
  /** Resolves when it is ready, or as soon as it lives where its clock keeps it from being ready. */
  start(endpoint?: 'readyz' | 'livez'): Promise<void>;
  /** SIGKILL: no instruction of it runs after this. */
  kill(): Promise<void>;
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
  /** Resolves when its present life ends. */
  ended(): Promise<unknown>;
}

export async function serviceProcess(
  name: 'agents' | 'credits' | 'answer-worker',
  databaseUrl: string,
  settings: Record<string, string>,
): Promise<ServiceProcess> {
  const main = fileURLToPath(new URL(`../../../../${name}/src/main.ts`, import.meta.url));
  const [grpcPort, opsPort] = [await freePort(), await freePort()];
  const env = {
    HOST: '127.0.0.1',
    OPS_PORT: String(opsPort),
    GRPC_PORT: String(grpcPort),
    LOG_LEVEL: 'error',
    DATABASE_URL: databaseUrl,
    SERVICE_SECRET: secret,
    CURSOR_SECRET: 'a cursor secret that is long enough for tests',
    IDENTITY_ADDRESS: '127.0.0.1:1',
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 1).toString('base64')}`,
    ...settings,
  };
  let child: ChildProcess | undefined;

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  return {
    address: `127.0.0.1:${grpcPort}`,
    async start(endpoint = 'readyz') {
      const life = spawn(process.execPath, [main], { env, stdio: ['ignore', 'inherit', 'inherit'] });
      child = life;
      await until(
        () =>
          fetch(`http://127.0.0.1:${opsPort}/${endpoint}`).then(
            ({ ok }) => (life.exitCode === null ? ok : 'ended'),
            () => false,
          ),
        (ready) => ready !== false,
        readyLimitMs,
      );
      if (life.exitCode !== null) throw new Error(`${name} ended with code ${life.exitCode}`);
    },
    kill: () => end('SIGKILL'),
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    stop: () => end('SIGTERM'),
    ended: async () => child && child.exitCode === null && child.signalCode === null && (await once(child, 'exit')),
  };
}
