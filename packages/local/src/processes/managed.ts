import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { OperatorFault, reasonOf } from '@agent-service/runtime/failures';
import { beginLife, type Life, lastLines, rotateLog, sizeOf } from './life.ts';
import { signalGroup } from './process-mark.ts';
import type { ProcessSpec } from './spec.ts';

const deathsBeforeReady = 3;

interface Timing {
  readonly readyLimitMs: number;
  readonly rotateEveryMs: number;
  readonly logLimitBytes: number;
  readonly nextPause: typeof nextPause;
}

const defaultTiming: Timing = { readyLimitMs: 60_000, rotateEveryMs: 1_000, logLimitBytes: 16 * 1024 * 1024, nextPause };

/** A process that is kept running until it is stopped. */
export interface ManagedProcess {
  readonly name: string;
  /** Undefined between a death and the next start. */
  readonly pid: number | undefined;
  /** Starts the process and does not wait for it. */
  begin(): void;
  /** Resolves when the process is ready. Rejects when it does not get there, and leaves it stopped. */
  start(): Promise<void>;
  /** Ends the process for good, within its limit. It can be started again. */
  stop(): Promise<void>;
  /** Sends a signal as any other program would: an end that follows counts as a death. */
  kill(signal: NodeJS.Signals): void;
}

/** Receives the starts and deaths of processes. */
export interface Supervision {
  readonly logFolder: string;
  readonly timing?: Partial<Timing>;
  began(spec: ProcessSpec, pid: number): void;
  ended(spec: ProcessSpec): void;
  report(line: string): void;
}

interface Running {
  life: Life | undefined;
  deaths: number;
  lastDeath: string;
  /** The last start or death could not be written down, which was reported. */
  isUnrecorded: boolean;
  /** The size of the log before the first run, whose lines are of earlier systems. */
  readonly logStart: number;
  readonly stopping: AbortController;
  readonly finished: Promise<void>;
}

export function manage(spec: ProcessSpec, supervision: Supervision): ManagedProcess {
  const logFile = join(supervision.logFolder, `${spec.name}.log`);
  let running: Running | undefined;

  const stop = async () => {
    const current = running;
    current?.stopping.abort();
    await current?.life?.stop();
    await current?.finished;
    if (running === current) running = undefined;
  };

  const begin = () => {
    running ??= keepRunning(spec, supervision, logFile);
    return running;
  };

  const start = async () => {
    const current = begin();
    try {
      await waitUntilReady(spec, current, logFile, supervision);
    } catch (cause) {
      await stop();
      throw cause;
    }
  };

  return {
    name: spec.name,
    get pid() {
      return running?.life?.pid;
    },
    begin,
    start,
    stop,
    kill: (signal) => {
      if (running?.life) signalGroup(running.life.pid, signal, 'leader');
    },
  };
}

const timingOf = ({ timing }: Supervision): Timing => ({ ...defaultTiming, ...timing });

function keepRunning(spec: ProcessSpec, supervision: Supervision, logFile: string): Running {
  const running: Omit<Running, 'finished'> = {
    life: undefined,
    deaths: 0,
    lastDeath: '',
    isUnrecorded: false,
    logStart: sizeOf(logFile),
    stopping: new AbortController(),
  };
  return Object.assign(running, { finished: restartUntilStopped(spec, supervision, logFile, running) });
}

async function restartUntilStopped(
  spec: ProcessSpec,
  supervision: Supervision,
  logFile: string,
  running: Omit<Running, 'finished'>,
): Promise<void> {
  const { signal } = running.stopping;
  const rotation = rotateRegularly(logFile, supervision);
  let pauseMs: number | undefined;
  let deathsInARow = 0;
  while (!signal.aborted) {
    const began = performance.now();
    const death = await runOnce(spec, supervision, logFile, running);
    if (signal.aborted) break;
    const uptimeMs = performance.now() - began;
    deathsInARow = isStable(uptimeMs) ? 1 : deathsInARow + 1;
    pauseMs = timingOf(supervision).nextPause(pauseMs, uptimeMs);
    running.lastDeath = death;
    running.deaths++;
    if (isPowerOfTwo(deathsInARow))
      supervision.report(describeDeath({ name: spec.name, death, deathsInARow, pauseMs, logFile, logStart: running.logStart }));
    await pause(pauseMs, undefined, { signal }).catch(() => undefined);
  }
  clearInterval(rotation);
}

function rotateRegularly(logFile: string, supervision: Supervision): NodeJS.Timeout {
  const { logLimitBytes, rotateEveryMs } = timingOf(supervision);
  let failed = false;
  const rotate = () => {
    try {
      rotateLog(logFile, logLimitBytes);
      failed = false;
    } catch (cause) {
      if (!failed) supervision.report(`${logFile} cannot be kept small: ${reasonOf(cause)}`);
      failed = true;
    }
  };
  return setInterval(rotate, rotateEveryMs).unref();
}

/** A process that dies a thousand times in a row is reported ten times. */
const isPowerOfTwo = (count: number): boolean => (count & (count - 1)) === 0;

interface Death {
  readonly name: string;
  readonly death: string;
  readonly deathsInARow: number;
  readonly pauseMs: number;
  readonly logFile: string;
  readonly logStart: number;
}

function describeDeath({ name, death, deathsInARow, pauseMs, logFile, logStart }: Death): string {
  const times = deathsInARow > 1 ? ` (${deathsInARow} deaths in a row)` : '';
  return `${name} ${death}${times}; starting it again in ${pauseMs / 1000} s. The end of ${logFile}:\n${lastLines(logFile, { start: logStart })}`;
}

/** Runs the process to its end and returns how it ended. */
async function runOnce(spec: ProcessSpec, supervision: Supervision, logFile: string, running: Omit<Running, 'finished'>): Promise<string> {
  try {
    running.life = await beginLife(spec, logFile);
  } catch (cause) {
    return `cannot be started: ${reasonOf(cause)}`;
  }
  const { life } = running;
  record(supervision, running, () => supervision.began(spec, life.pid));
  // It was being prepared when it was stopped.
  if (running.stopping.signal.aborted) await life.stop();
  const death = await life.ended;
  running.life = undefined;
  record(supervision, running, () => supervision.ended(spec));
  return death;
}

/** Starts and deaths are written to files. Where that fails, because the disk is full for one, the process is supervised all the same. */
function record(supervision: Supervision, running: Omit<Running, 'finished'>, write: () => void): void {
  try {
    write();
    running.isUnrecorded = false;
  } catch (cause) {
    if (!running.isUnrecorded) supervision.report(`the list of processes cannot be written: ${reasonOf(cause)}`);
    running.isUnrecorded = true;
  }
}

async function waitUntilReady(spec: ProcessSpec, running: Running, logFile: string, supervision: Supervision): Promise<void> {
  const { readyLimitMs } = timingOf(supervision);
  let isRestoring = false;
  while (!(await becomesReady(spec, running, logFile, readyLimitMs))) {
    if (!(await spec.isRestoring?.())) throw await unready(spec, running, logFile, readyLimitMs);
    if (!isRestoring) supervision.report(`${spec.name} restores its data after it was ended hard; waiting until it has`);
    isRestoring = true;
  }
}

/** Resolves to false when the limit is over. */
async function becomesReady(spec: ProcessSpec, running: Running, logFile: string, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    if (running.stopping.signal.aborted) throw new OperatorFault(`${spec.name} was stopped before it was ready`);
    if (running.deaths >= deathsBeforeReady)
      throw new OperatorFault(
        `${spec.name} does not start: it ${running.lastDeath}, ${running.deaths} times. The end of ${logFile}:\n${lastLines(logFile, { start: running.logStart })}`,
      );
    if (running.life && (await spec.isReady())) return true;
    await pause(25);
  }
  return false;
}

async function unready(spec: ProcessSpec, running: Running, logFile: string, limitMs: number): Promise<OperatorFault> {
  const reason = await spec.unreadyReason?.();
  const reasonText = reason === undefined ? '' : ` It says: ${reason}.`;
  return new OperatorFault(
    `${spec.name} was not ready after ${Math.round(limitMs / 1000)} s.${reasonText} The end of ${logFile}:\n${lastLines(logFile, { start: running.logStart })}`,
  );
}

const firstPauseMs = 200;
const maxPauseMs = 10_000;
const stableAfterMs = 30_000;

/** True if a process ran so long that its death counts as the first. */
const isStable = (uptimeMs: number): boolean => uptimeMs >= stableAfterMs;

/** How long to wait before a process that died is started again: twice as long each time, from the beginning after a stable run. */
export function nextPause(previousMs: number | undefined, uptimeMs: number): number {
  if (previousMs === undefined || isStable(uptimeMs)) return firstPauseMs;
  return Math.min(previousMs * 2, maxPauseMs);
}
