import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '@agent-service/local/host/ports';
import { nodeOptions } from '@agent-service/runtime/config';
import { machineEnvironment, mainFileOf } from '../infrastructure/settings.ts';
import { until } from '../until.ts';

const readyLimitMs = 60_000;

/** A process of a service as `npm start` runs it. It keeps its ports over its lives. */
export interface ServiceProcess {
  /** The address of its gRPC server, where it has one. */
  readonly address: string;
  readonly opsUrl: string;
  /** Resolves when it reports these faults and no others, without any when it is ready; with `alive` as soon as it answers at all. */
  start(faults?: readonly string[] | 'alive'): Promise<void>;
  /** Resolves when it reports these faults and no others. */
  untilFaults(faults: readonly string[]): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** SIGKILL: no instruction of it runs after this. */
  kill(): Promise<void>;
  /** SIGSTOP: it keeps its connections and does nothing until it is thawed. */
  freeze(): void;
  thaw(): void;
  /** SIGTERM, and the code it ended with. */
  stop(): Promise<number | null>;
  /** Resolves when its present life ends. */
  ended(): Promise<void>;
}

/** Makes the process, without starting it. Its settings are these alone. */
export async function serviceProcess(service: string, settings: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const main = mainFileOf(service, `services/${service}/src/main.ts`);
  const [grpcPort, opsPort] = [await freePort(), await freePort()];
  const own = { HOST: '127.0.0.1', LOG_LEVEL: 'silent', ...settings, GRPC_PORT: String(grpcPort), OPS_PORT: String(opsPort) };
  const env = { ...machineEnvironment, ...own };
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  let child: ChildProcess | undefined;

  const isRunning = (life: ChildProcess | undefined) => life !== undefined && life.exitCode === null && life.signalCode === null;

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (child === undefined || !isRunning(child)) return child?.exitCode ?? null;
    const ended = once(child, 'exit') as Promise<[number | null]>;
    child.kill(signal);
    return (await ended)[0];
  }

  /** Asks until the process answers so, or has ended. */
  async function untilAnswer(path: string, expected: string, matches: (response: Response) => Promise<boolean>): Promise<void> {
    const life = child;
    await until(`${service} is ${expected}`, async () => !isRunning(life) || (await matches(await fetch(opsUrl + path))), readyLimitMs);
    if (!isRunning(life)) throw new Error(`${service} ended with ${life?.exitCode ?? life?.signalCode} before it was ${expected}`);
  }

  const untilAlive = () => untilAnswer('/livez', 'alive', async ({ ok }) => ok);
  const untilFaults = (faults: readonly string[]) =>
    untilAnswer('/readyz', faults.length === 0 ? 'ready' : `unready for ${faults}`, async (response) => {
      const { faults: reported } = (await response.json()) as { faults: object };
      return String(Object.keys(reported)) === String(faults);
    });

  return {
    address: `127.0.0.1:${grpcPort}`,
    opsUrl,
    async start(faults = []) {
      // Through the channel it learns that this process has ended. Jest's main process waits for all that hold its workers' output.
      const life = spawn(process.execPath, [...nodeOptions, main], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
      child = life;
      await (faults === 'alive' ? untilAlive() : untilFaults(faults));
    },
    untilFaults,
    signal: (signal) => void child?.kill(signal),
    kill: async () => void (await end('SIGKILL')),
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    stop: () => end('SIGTERM'),
    ended: async () => {
      if (child && isRunning(child)) await once(child, 'exit');
    },
  };
}
