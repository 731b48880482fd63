import { type ChildProcess, type SpawnOptions, type StdioOptions, spawn } from 'node:child_process';
import { get } from 'node:http';
import { nodeOptions, supervised } from '@agent-service/runtime/config';
import { z } from 'zod';
import { hostInUrl } from '../host/ports.ts';

/** How one process is run. Specs are values: the same spec starts the process again after its death. */
export interface ProcessSpec {
  readonly name: string;
  /** Clears up what an earlier run left, before each start. */
  prepare?(): Promise<void>;
  /** Starts the process in a group of its own, with its output where the log is. */
  spawn(log: number): ChildProcess;
  /** Asks the process once. Resolves to false while it does not run yet. */
  isReady(): Promise<boolean>;
  /** True while a process that is not ready restores its data, which takes as long as it takes. */
  isRestoring?(): Promise<boolean>;
  /** The reason why a running process is not ready, if it tells one. */
  unreadyReason?(): Promise<string | undefined>;
  /** The signal that means "finish and end". */
  readonly stopSignal: NodeJS.Signals;
  readonly stopLimitMs: number;
}

/** A server of this machine that others reach by a URL. */
export interface ServerSpec extends ProcessSpec {
  readonly url: string;
}

/** For programs that are not ours, which do not use a channel. */
export function outputTo(log: number): StdioOptions {
  return ['ignore', log, log];
}

/** A request that is refused costs as much as one that is answered, and a process that is starting would refuse many. */
const askSilentEveryMs = 250;

interface NodeProcessOptions {
  readonly name: string;
  readonly entry: string;
  readonly workingFolder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly opsPort: number;
  /** The process loads its code at once and starts when this resolves; by default at once. */
  readonly released?: Promise<void>;
}

/** One of our services: it ends when its channel to the supervisor closes, says when it has started, and reports its own readiness. */
export function nodeProcess({ name, entry, workingFolder, env, opsPort, released = Promise.resolve() }: NodeProcessOptions): ProcessSpec {
  let hasStarted = false;
  let askedAt = Number.NEGATIVE_INFINITY;
  const readyUrl = `http://${hostInUrl(env['HOST'] ?? '127.0.0.1')}:${opsPort}/readyz`;
  return {
    name,
    spawn(log) {
      hasStarted = false;
      const options: SpawnOptions = { cwd: workingFolder, env: { ...env }, detached: true, stdio: ['ignore', log, log, 'ipc'] };
      const child = spawn(process.execPath, [...nodeOptions, entry, supervised], options);
      child.on('message', (message) => {
        if (message === 'started') hasStarted = true;
      });
      // A process that has died gets no message; its end is seen elsewhere.
      void released.then(() => child.connected && child.send('start', () => undefined));
      return child;
    },
    async isReady() {
      if (!hasStarted && performance.now() - askedAt < askSilentEveryMs) return false;
      askedAt = performance.now();
      return answersOk(readyUrl);
    },
    unreadyReason: () => readFaults(readyUrl),
    stopSignal: 'SIGTERM',
    stopLimitMs: 15_000,
  };
}

/** The failed checks that a process reports about itself. */
async function readFaults(url: string): Promise<string | undefined> {
  try {
    const { faults } = reportSchema.parse(await (await fetch(url, { signal: AbortSignal.timeout(2_000) })).json());
    return Object.entries(faults)
      .map(([name, fault]) => `${name}: ${fault}`)
      .join(', ');
  } catch {
    // It does not answer, or is no process of ours; the error shows its log anyway.
    return undefined;
  }
}

const reportSchema = z.object({ faults: z.record(z.string(), z.string()) });

/** Asks once if a GET is answered with 200. */
export function answersOk(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}
