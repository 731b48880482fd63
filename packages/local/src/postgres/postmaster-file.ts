import { spawnSync } from 'node:child_process';
import { readlinkSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readIfPresent } from '../files.ts';
import { LocalError } from '../local-error.ts';
import { signalGroup } from '../processes/signals.ts';
import { startTimeOf } from '../processes/start-time.ts';
import { until } from '../waiting.ts';

const stopLimitMs = 15_000;

/**
 * Deals with what an earlier PostgreSQL left on this cluster: a server that still runs is stopped, and the note of one that
 * is gone is removed, because its pid may by now be another program's and PostgreSQL would then refuse to start.
 */
export async function clearPostmaster(clusterFolder: string): Promise<void> {
  const note = join(clusterFolder, 'postmaster.pid');
  const pid = Number(readIfPresent(note)?.split('\n')[0]);
  if (!Number.isInteger(pid) || pid <= 1) return;
  if (!servesCluster(pid, clusterFolder)) return rmSync(note, { force: true });
  signalGroup(pid, 'SIGINT', 'leader');
  if (await until(() => startTimeOf(pid) === undefined, stopLimitMs)) return;
  throw new LocalError(`A PostgreSQL (pid ${pid}) still runs on ${clusterFolder} and does not stop. End it and start again.`);
}

function servesCluster(pid: number, clusterFolder: string): boolean {
  if (startTimeOf(pid) === undefined) return false;
  if (process.platform === 'linux') return workingFolder(pid) === realpathSync(clusterFolder);
  return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout.includes(clusterFolder);
}

function workingFolder(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // Ended meanwhile, or another user's: not a server that this user started.
    return undefined;
  }
}
