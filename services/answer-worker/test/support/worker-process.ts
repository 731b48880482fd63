import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { freePort, machineEnvironment, mainFileOf, until } from '@agent-service/testkit';
import { type Surroundings, settingsFor } from './settings.ts';

const main = mainFileOf('answer-worker', 'services/answer-worker/src/main.ts');
const readyLimitMs = 20_000;

/** A worker process of its own, as `npm start` runs it. */
export interface WorkerProcess {
  /** Its log lines, parsed. */
  readonly log: Record<string, unknown>[];
  readonly isReady: () => Promise<boolean>;
  isAlive(): Promise<boolean>;
  /** The processes that it has started. */
  children(): number[];
  /** Resident memory in kB. */
  residentKB(): number;
  /** User and system time, in milliseconds. */
  cpuMs(): number;
  signal(signal: NodeJS.Signals): void;
  /** Resolves with the exit code when it has ended by itself. */
  readonly ended: Promise<number | null>;
  kill(): Promise<void>;
}

export async function startWorkerProcess(scene: Surroundings, settings: Record<string, string> = {}): Promise<WorkerProcess> {
  const opsPort = await freePort();
  const env = { ...machineEnvironment, ...(await settingsFor(scene, { OPS_PORT: String(opsPort), LOG_LEVEL: 'info', ...settings })) };
  // Through the channel it learns that this process has ended. Jest's main process waits for all that hold its workers' output.
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  const answers = (path: string) =>
    fetch(`http://127.0.0.1:${opsPort}${path}`).then(
      ({ ok }) => ok,
      () => false,
    );
  const worker: WorkerProcess = {
    log: logOf(child),
    isReady: () => answers('/readyz'),
    isAlive: () => answers('/livez'),
    children: () =>
      readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
        .split(' ')
        .filter((pid) => pid !== '')
        .map(Number),
    residentKB: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]),
    cpuMs: () => cpuMsOf(child.pid as number),
    signal: (signal) => void child.kill(signal),
    ended,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
  const isThere = async () => child.exitCode !== null || (await worker.isAlive());
  await until('the worker is alive', isThere, readyLimitMs).catch(async (cause: unknown) => {
    await worker.kill();
    throw cause;
  });
  return worker;
}

function logOf({ stdout }: ChildProcess): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  let rest = '';
  stdout?.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.map((line) => JSON.parse(line) as Record<string, unknown>));
  });
  return lines;
}

const tickMs = 10;

function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}
