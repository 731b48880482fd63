import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@agent-service/testkit';
import { type Clients, connectTo, settingsFor } from './booted.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const readyLimitMs = 20_000;

/** A credits process of its own, as `npm start` runs it. It keeps its address over its lives. */
export interface CreditsProcess extends Clients {
  address: string;
  start(): Promise<void>;
  /** SIGKILL: no instruction of it runs after this. */
  kill(): Promise<void>;
  /** SIGSTOP: it is there and does nothing, until it is thawed. */
  freeze(): void;
  thaw(): void;
  /** SIGTERM, and the code it ended with. */
  stop(): Promise<number | null>;
}

export async function creditsProcess(databaseUrl: string, settings: Record<string, string> = {}): Promise<CreditsProcess> {
  const [grpcPort, opsPort] = [await freePort(), await freePort()];
  const address = `127.0.0.1:${grpcPort}`;
  const env = settingsFor(databaseUrl, { GRPC_PORT: String(grpcPort), OPS_PORT: String(opsPort), ...settings });
  let clients = connectTo(address);
  let child: ChildProcess | undefined;

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const ended = once(child, 'exit') as Promise<[number | null]>;
    child.kill(signal);
    return (await ended)[0];
  }

  return {
    get agents() {
      return clients.agents;
    },
    get gateway() {
      return clients.gateway;
    },
    get operator() {
      return clients.operator;
    },
    close: () => clients.close(),
    address,
    async start() {
      child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'ignore', 'inherit'] });
      await untilReady(`http://127.0.0.1:${opsPort}/readyz`, child);
      // New ones, which do not wait out the pauses that the old ones make between attempts to connect.
      clients.close();
      clients = connectTo(address);
    },
    kill: async () => void (await end('SIGKILL')),
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    async stop() {
      clients.close();
      return await end('SIGTERM');
    },
  };
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  const end = performance.now() + readyLimitMs;
  while (performance.now() < end) {
    if (child.exitCode !== null) throw new Error(`the credits process ended with code ${child.exitCode}`);
    if (
      await fetch(url).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return;
    await pause(25);
  }
  throw new Error('the credits process did not get ready');
}
