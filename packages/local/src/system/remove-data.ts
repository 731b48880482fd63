import { existsSync, globSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { notedLocation } from '../postgres/location.ts';
import { clearPostmaster } from '../postgres/postmaster-file.ts';
import { takeFolder } from '../processes/ownership.ts';

/** Only these: DATA_DIR may hold other files as well. */
const ours = [
  ...['postgres', 'postgres.draft', 'postgres-location', 'redis', 'logs', 'compile-cache', 'demonstration.json'],
  ...['secrets.json', 'credentials.json', 'endpoints.json', 'processes.json', 'supervisor.json.after-*'],
  // Left by a process that was killed, the second with the password of the cluster.
  ...['postgres-location.[0-9]*', '.password.[0-9]*'],
];

/** Removes all data of a system after stopping the processes of a dead supervisor; refused while a live one owns it. Returns the other files. */
export async function removeData(dataDir: string): Promise<string[]> {
  if (!existsSync(dataDir)) return [];
  const ownership = await takeFolder(dataDir);
  try {
    await removeCluster(join(dataDir, 'postgres'));
    await removeOutsideCluster(dataDir);
    for (const name of globSync(ours, { cwd: dataDir })) rmSync(join(dataDir, name), { recursive: true, force: true });
  } finally {
    ownership.release();
  }
  const left = readdirSync(dataDir);
  if (left.length === 0) rmdirSync(dataDir);
  return left;
}

/** Removes the cluster that DATA_DIR keeps elsewhere, if there is one: without DATA_DIR its owner would be unknown. */
export async function removeOutsideCluster(dataDir: string): Promise<void> {
  const outside = notedLocation(dataDir);
  if (outside === undefined) return;
  await removeCluster(outside);
  await rm(dirname(outside), { recursive: true, force: true });
}

async function removeCluster(folder: string): Promise<void> {
  await clearPostmaster(folder);
  await rm(folder, { recursive: true, force: true });
}
