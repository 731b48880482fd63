import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@agent-service/testkit';

const services = fileURLToPath(new URL('../../', import.meta.url));
const readyLimitMs = 30_000;

/** A process of a service as `npm start` runs it. It keeps its ports over its lives. */
export interface ServiceProcess {
  /** Of its gRPC server, where it has one. */
  readonly address: string;
  readonly opsUrl: string;
  /** Resolves when the process reports these faults and no others: without any it is ready. */
  start(faults?: readonly string[]): Promise<void>;
  /** Resolves when the process reports these faults and no others. */
  untilFaults(faults: readonly string[]): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** SIGKILL: no instruction of it runs after this. */
  kill(): Promise<void>;
  /** SIGTERM, and the code it ended with. */
  stop(): Promise<number | null>;
}

export async function serviceProcess(service: string, settings: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const [grpcPort, opsPort] = [await freePort(), await freePort()];
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  const env = { HOST: '127.0.0.1', LOG_LEVEL: 'silent', ...settings, GRPC_PORT: String(grpcPort), OPS_PORT: String(opsPort) };
  let child: ChildProcess | undefined;

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const ended = once(child, 'exit') as Promise<[number | null]>;
    child.kill(signal);
    return (await ended)[0];
  }

  return {
    address: `127.0.0.1:${grpcPort}`,
    opsUrl,
    async start(faults = []) {
      child = spawn(process.execPath, [`${services}${service}/src/main.ts`], { env, stdio: ['ignore', 'inherit', 'inherit'] });
      await untilFaults(service, `${opsUrl}/readyz`, child, faults);
    },
    async untilFaults(faults) {
      if (child) await untilFaults(service, `${opsUrl}/readyz`, child, faults);
    },
    signal: (signal) => void child?.kill(signal),
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  };
}

async function untilFaults(service: string, url: string, child: ChildProcess, expected: readonly string[]): Promise<void> {
  const end = performance.now() + readyLimitMs;
  let last: unknown[] = [];
  while (performance.now() < end) {
    if (child.exitCode !== null) throw new Error(`${service} ended with code ${child.exitCode}`);
    last = await fetch(url).then(
      async (response) => Object.keys(((await response.json()) as { faults: object }).faults),
      () => ['not listening'],
    );
    if (String(last) === String(expected)) return;
    await pause(25);
  }
  throw new Error(`${service} at ${url} reports [${last}] and not [${expected}]`);
}
