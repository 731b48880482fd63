import { spawnSync } from 'node:child_process';
import { readdirSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorFault } from '@agent-service/runtime/failures';
import { readIfPresent } from '../host/files.ts';
import { until } from '../host/waiting.ts';
import { signalGroup, startTimeOf } from '../processes/process-mark.ts';

const stopLimitMs = 15_000;

/**
 * Prepares a cluster for the start of its server. A server that still runs on it is stopped. PostgreSQL itself replaces the pid file of a
 * server that is gone, unless another program runs under that pid by now: then the file is removed here.
 */
export async function clearPostmaster(clusterFolder: string): Promise<void> {
  const file = join(clusterFolder, 'postmaster.pid');
  const pid = Number(readIfPresent(file)?.split('\n')[0]);
  if (!Number.isInteger(pid) || pid <= 1 || startTimeOf(pid) === undefined) return;
  if (servesCluster(pid, clusterFolder)) {
    signalGroup(pid, 'SIGINT', 'leader');
    if (await until(() => startTimeOf(pid) === undefined, stopLimitMs)) return;
    throw stillRuns(pid, clusterFolder);
  }
  // The file also protects the data from backends that outlived their server.
  if (!(await until(() => backendOf(clusterFolder) === undefined, stopLimitMs))) throw stillRuns(backendOf(clusterFolder), clusterFolder);
  rmSync(file, { force: true });
}

const stillRuns = (pid: number | undefined, clusterFolder: string) =>
  new OperatorFault(`A PostgreSQL (pid ${pid}) still runs on ${clusterFolder} and does not stop. End it and start again.`);

function servesCluster(pid: number, clusterFolder: string): boolean {
  if (process.platform === 'linux') return workingFolder(pid) === realpathSync(clusterFolder);
  return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout.includes(clusterFolder);
}

/** A process whose working folder is the cluster, as that of every process of a server is. Undefined on other systems than Linux. */
function backendOf(clusterFolder: string): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const folder = realpathSync(clusterFolder);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).find((pid) => workingFolder(pid) === folder);
}

function workingFolder(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // Ended in the meantime, or another user's: not a server that this user started.
    return undefined;
  }
}
