import { spawnSync } from 'node:child_process';
import { errorCode, readIfPresent } from '../host/files.ts';

/**
 * The start time of a process in the system's own format. Together with the pid it identifies a process, because pids are reused.
 * Undefined if there is no such process, or it is dead and not yet reaped.
 */
export function startTimeOf(pid: number): string | undefined {
  return process.platform === 'linux' ? linuxStartTime(pid) : psStartTime(pid);
}

function linuxStartTime(pid: number): string | undefined {
  const stat = readStat(pid);
  // The second field is the command's name in parentheses and may itself hold spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields?.[0];
  if (state === 'Z' || state === 'X') return undefined;
  return fields?.[19];
}

function readStat(pid: number): string | undefined {
  try {
    return readIfPresent(`/proc/${pid}/stat`);
  } catch (cause) {
    // The process ended between opening and reading.
    if (errorCode(cause) === 'ESRCH') return undefined;
    throw cause;
  }
}

function psStartTime(pid: number): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { LC_ALL: 'C', PATH: '/bin:/usr/bin' },
  });
  return stdout.trim() || undefined;
}

/** A process, named so that a later one under the same pid is not mistaken for it. */
export interface ProcessMark {
  readonly pid: number;
  readonly startTime: string;
}

export function markOf(pid: number): ProcessMark | undefined {
  const startTime = startTimeOf(pid);
  return startTime === undefined ? undefined : { pid, startTime };
}

export function isAlive(mark: ProcessMark): boolean {
  return startTimeOf(mark.pid) === mark.startTime;
}

/** Sends a signal to a process, or to the group it leads. Returns false if there is none. */
export function signalGroup(pid: number, signal: NodeJS.Signals, whom: 'leader' | 'group'): boolean {
  try {
    process.kill(whom === 'group' ? -pid : pid, signal);
    return true;
  } catch (cause) {
    if (errorCode(cause) === 'ESRCH') return false;
    throw cause;
  }
}
