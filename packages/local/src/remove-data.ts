import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { notedLocation } from './postgres/location.ts';
import { clearPostmaster } from './postgres/postmaster-file.ts';
import { refuseIfOwned, stopLeftIn } from './processes/ownership.ts';

/** Only these: DATA_DIR may be a folder in which somebody keeps other things. */
const ours = [
  ...['postgres', 'postgres.draft', 'postgres-location', 'redis', 'logs', 'compile-cache', 'demonstration.json'],
  ...['secrets.json', 'credentials.json', 'endpoints.json', 'processes.json', 'supervisor.json'],
];

/** Removes what a system keeps, wherever it is, after stopping what a dead supervisor left; refused while a live one has it. Answers with what else is there. */
export async function removeData(dataDir: string): Promise<string[]> {
  if (!existsSync(dataDir)) return [];
  refuseIfOwned(dataDir);
  await stopLeftIn(dataDir);
  await removeCluster(join(dataDir, 'postgres'));
  const outside = notedLocation(dataDir);
  if (outside !== undefined) await removeCluster(outside).then(() => rm(dirname(outside), { recursive: true, force: true }));
  for (const name of ours) rmSync(join(dataDir, name), { recursive: true, force: true });
  const left = readdirSync(dataDir);
  if (left.length === 0) rmdirSync(dataDir);
  return left;
}

async function removeCluster(folder: string): Promise<void> {
  await clearPostmaster(folder);
  await rm(folder, { recursive: true, force: true });
}
