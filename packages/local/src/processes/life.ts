import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { OperatorFault, reasonOf } from '@agent-service/runtime/failures';
import { isMissing } from '../host/files.ts';
import { signalGroup } from './process-mark.ts';
import type { ProcessSpec } from './spec.ts';

/** One run of a process, from its start to its end. */
export interface Life {
  readonly pid: number;
  /** Resolves with a description of the end; never rejects. */
  readonly ended: Promise<string>;
  /** Asks the process to end, and kills it after its limit. */
  stop(): Promise<void>;
}

export async function beginLife(spec: ProcessSpec, logFile: string): Promise<Life> {
  await spec.prepare?.();
  const log = openSync(logFile, 'a', 0o600);
  try {
    const child = spec.spawn(log);
    const ended = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ? `was ended by ${signal}` : `ended with code ${code}`));
    });
    // `spawn` and `error` are exclusive: a program that cannot be run has no exit.
    if (child.pid === undefined)
      await once(child, 'spawn').catch((cause: unknown) =>
        Promise.reject(new OperatorFault(`${spec.name} cannot be started: ${reasonOf(cause)}`, { cause })),
      );
    const pid = child.pid as number;
    // A channel that breaks is seen as the child's end; the error event itself would end this process.
    child.on('error', () => undefined);
    return { pid, ended, stop: () => endLife(pid, ended, spec) };
  } finally {
    closeSync(log);
  }
}

async function endLife(pid: number, ended: Promise<string>, spec: ProcessSpec): Promise<void> {
  const limit = new AbortController();
  const tooLong = pause(spec.stopLimitMs, 'too long' as const, { signal: limit.signal }).catch(() => undefined);
  if (signalGroup(pid, spec.stopSignal, 'leader') && (await Promise.race([ended, tooLong])) === 'too long')
    signalGroup(pid, 'SIGKILL', 'group');
  await ended;
  limit.abort();
}

/** Waits until the process is ready; its death or the time limit is an error that shows the end of its log. */
export async function waitUntilReady(spec: ProcessSpec, life: Life, logFile: string, limitMs: number): Promise<void> {
  let ending: string | undefined;
  void life.ended.then((how) => {
    ending = how;
  });
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    if (ending !== undefined) throw new OperatorFault(`${spec.name} ${ending} before it was ready.\n${lastLines(logFile)}`);
    if (await spec.isReady()) return;
    await pause(25);
  }
  throw new OperatorFault(`${spec.name} was not ready after ${Math.round(limitMs / 1000)} s.\n${lastLines(logFile)}`);
}

const shownBytes = 16 * 1024;
const shownLines = 15;

/** The bytes of a log; 0 if there is none. */
export function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (cause) {
    if (isMissing(cause)) return 0;
    throw cause;
  }
}

/** The end of a log from a position on, indented, for the report of a process's death. */
export function lastLines(path: string, { count = shownLines, start = 0 } = {}): string {
  // A log that has become shorter was moved away.
  const written = sizeOf(path) - start;
  const bytes = written > 0 ? Math.min(written, shownBytes) : shownBytes;
  const lines = (readEnd(path, bytes)?.toString() ?? '').trimEnd().split('\n').slice(-count);
  return lines.map((line) => `    ${line}`).join('\n');
}

/**
 * Moves the content of a log that has grown large to `PATH.1` and empties it. Its process goes on writing to the same open file, which
 * appends; lines written between the two steps are lost.
 */
export function rotateLog(path: string, limitBytes: number): void {
  const end = readEnd(path, limitBytes, limitBytes);
  if (!end) return;
  rmSync(`${path}.1`, { force: true });
  try {
    writeFileSync(`${path}.1`, end, { mode: 0o600 });
  } finally {
    // Also on a full disk, which the log may have filled.
    truncateSync(path);
  }
}

/** The last bytes of a file that is larger than `above`. */
function readEnd(path: string, bytes: number, above = 0): Buffer | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      if (size <= above) return undefined;
      const content = Buffer.alloc(Math.min(size, bytes));
      return content.subarray(0, readSync(file, content, 0, content.length, size - content.length));
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
}
