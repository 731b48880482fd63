import { existsSync, globSync, statfsSync, statSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { until } from '@agent-service/local/host/waiting';
import { ownerOf, stopLeftIn } from '@agent-service/local/processes/ownership';
import { isAlive, signalGroup } from '@agent-service/local/processes/process-mark';
import { removeOutsideCluster } from '@agent-service/local/system/remove-data';
import { OperatorFault } from '@agent-service/runtime/failures';
import { givenTemporaryFolder, sharedInfrastructure } from './settings.ts';

const prefix = 'agent-service-test-';

/** Linux keeps the files of this folder in memory. A database has 300 files, and most suites make one and remove it. */
const memory = '/dev/shm';
/** Almost three times what a run was seen to have. */
const leastFreeInMemory = 4 * 2 ** 30;

/** The folder above those of the runs: in memory if there is enough of it, unless TMPDIR names one. */
function parentOfRuns(): string {
  if (givenTemporaryFolder !== undefined || !existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= leastFreeInMemory ? memory : tmpdir();
}

/** A folder for one run of the tests. Other users may traverse it (mode x): as root, PostgreSQL runs as a user of its own. */
export async function makeRunFolder(): Promise<string> {
  return await makeFolder(join(parentOfRuns(), prefix));
}

async function makeFolder(path: string): Promise<string> {
  const folder = await mkdtemp(path);
  await chmod(folder, 0o711);
  return folder;
}

/** An empty folder of its own, removed after the run with the processes that a supervisor in it left running. */
export async function testFolder(): Promise<string> {
  return await makeFolder(join(sharedInfrastructure().folder, 'test-'));
}

/**
 * Removes a run's folder after stopping every process that its supervisors, the run's own and those inside tests, left behind,
 * and the clusters of systems inside tests that were created elsewhere.
 */
export async function removeRunFolder(folder: string): Promise<void> {
  const foldersWith = (name: string) => globSync(`**/${name}`, { cwd: folder }).map((path) => join(folder, dirname(path)));
  for (const supervised of foldersWith('supervisor.json'))
    await unlessBroken(() => endSupervisor(supervised).then(() => stopLeftIn(supervised)));
  for (const dataDir of foldersWith('postgres-location')) await unlessBroken(() => removeOutsideCluster(dataDir));
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** A test about a broken file may have been cut short: what the file named is not known, and the next runs must not fail for it. */
async function unlessBroken(work: () => Promise<void>): Promise<void> {
  await work().catch((cause: unknown) => {
    if (!(cause instanceof OperatorFault)) throw cause;
    process.stderr.write(`${cause.message}\n`);
  });
}

/** A worker of Jest that outlived its run would start again what is stopped here. */
async function endSupervisor(folder: string): Promise<void> {
  const supervisor = ownerOf(folder);
  if (!supervisor || supervisor.pid === process.pid) return;
  signalGroup(supervisor.pid, 'SIGKILL', 'leader');
  await until(() => !isAlive(supervisor), 5000);
}

/** A run that was killed could not clean up; the next one does. */
export async function sweepDeadRuns(): Promise<void> {
  for (const parent of new Set([memory, tmpdir()])) {
    for (const name of globSync(`${prefix}*`, { cwd: parent })) {
      const folder = join(parent, name);
      if (!ownerOf(folder) && !isBeingMade(folder)) await removeRunFolder(folder);
    }
  }
}

/** The owner file is written after the folder. */
function isBeingMade(folder: string): boolean {
  const age = Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return !existsSync(join(folder, 'supervisor.json')) && age < 60_000;
}
