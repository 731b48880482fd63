import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { LocalError, reasonOf } from '../local-error.ts';
import { nextPause } from './backoff.ts';
import { beginLife, type Life } from './life.ts';
import { lastLines, rotate } from './log-file.ts';
import { signalGroup } from './signals.ts';
import type { ProcessSpec } from './spec.ts';

const readyLimitMs = 60_000;
const triesBeforeReady = 3;

/** A process that is kept running until it is told to stop. */
export interface ManagedProcess {
  readonly name: string;
  /** Of its present life; undefined between lives. */
  readonly pid: number | undefined;
  /** Resolves once it is ready; rejects when it does not get there, and leaves it stopped. */
  start(): Promise<void>;
  /** Ends it for good, within its limit. Starting it again is allowed. */
  stop(): Promise<void>;
  /** Sends a signal, as somebody outside would: what follows is an ordinary death. */
  kill(signal: NodeJS.Signals): void;
}

/** Who is told about lives and deaths. */
export interface Supervision {
  readonly logFolder: string;
  began(spec: ProcessSpec, pid: number): void;
  ended(spec: ProcessSpec): void;
  report(line: string): void;
}

interface Running {
  life: Life | undefined;
  deaths: number;
  lastDeath: string;
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

  const start = async () => {
    running ??= keepRunning(spec, supervision, logFile);
    try {
      await untilReady(spec, running, logFile);
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
    start,
    stop,
    kill: (signal) => {
      if (running?.life) signalGroup(running.life.pid, signal, 'leader');
    },
  };
}

function keepRunning(spec: ProcessSpec, supervision: Supervision, logFile: string): Running {
  const running: Omit<Running, 'finished'> = { life: undefined, deaths: 0, lastDeath: '', stopping: new AbortController() };
  return Object.assign(running, { finished: liveAgainAndAgain(spec, supervision, logFile, running) });
}

async function liveAgainAndAgain(
  spec: ProcessSpec,
  supervision: Supervision,
  logFile: string,
  running: Omit<Running, 'finished'>,
): Promise<void> {
  const { signal } = running.stopping;
  let pauseMs: number | undefined;
  while (!signal.aborted) {
    const began = performance.now();
    const death = await liveOnce(spec, supervision, logFile, running);
    if (signal.aborted) return;
    pauseMs = nextPause(pauseMs, performance.now() - began);
    running.lastDeath = death;
    running.deaths++;
    supervision.report(`${spec.name} ${death}; starting it again in ${pauseMs / 1000} s. The end of ${logFile}:\n${lastLines(logFile)}`);
    await pause(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Runs one life to its end and says what that was. */
async function liveOnce(spec: ProcessSpec, supervision: Supervision, logFile: string, running: Omit<Running, 'finished'>): Promise<string> {
  rotate(logFile);
  try {
    running.life = await beginLife(spec, logFile);
  } catch (cause) {
    return `can not be started: ${reasonOf(cause)}`;
  }
  supervision.began(spec, running.life.pid);
  const death = await running.life.ended;
  running.life = undefined;
  supervision.ended(spec);
  return death;
}

async function untilReady(spec: ProcessSpec, running: Running, logFile: string): Promise<void> {
  const end = performance.now() + readyLimitMs;
  while (performance.now() < end) {
    if (running.stopping.signal.aborted) throw new LocalError(`${spec.name} was stopped before it was ready`);
    if (running.deaths >= triesBeforeReady)
      throw new LocalError(
        `${spec.name} does not start: it ${running.lastDeath}, ${running.deaths} times. The end of ${logFile}:\n${lastLines(logFile)}`,
      );
    if (running.life && (await spec.isReady())) return;
    await pause(25);
  }
  throw new LocalError(`${spec.name} was not ready after ${readyLimitMs / 1000} s. The end of ${logFile}:\n${lastLines(logFile)}`);
}
