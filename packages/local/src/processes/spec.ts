import type { ChildProcess, StdioOptions } from 'node:child_process';

/** How one process is run. Specs are values: the same spec starts the process again after its death. */
export interface ProcessSpec {
  readonly name: string;
  /** Clears up what an earlier run left, before each start. */
  prepare?(): Promise<void>;
  /** Starts the process in a group of its own, with its output where the log is. */
  spawn(log: number): ChildProcess;
  /** Asks the process itself, once. Never rejects because the process is not there yet. */
  isReady(): Promise<boolean>;
  /** Says why a process that runs is not ready, where it tells. */
  unreadyReason?(): Promise<string | undefined>;
  /** The signal that means "finish and end". */
  readonly stopSignal: NodeJS.Signals;
  readonly stopLimitMs: number;
}

/** A server of this machine that others reach by a URL. */
export interface ServerSpec extends ProcessSpec {
  readonly url: string;
}

/** For programs that are not ours: no channel, since they would not know what to do with it. */
export function outputTo(log: number): StdioOptions {
  return ['ignore', log, log];
}
