import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clusterFolder } from '@agent-service/local/postgres/location';
import { expect, test } from '@jest/globals';
import { removeRunFolder, testFolder } from './run-folder.ts';

test('a cluster that had to be made outside of a closed folder goes with it', async () => {
  const folder = await testFolder();
  const dataDir = join(folder, 'closed', 'data');
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const cluster = clusterFolder(dataDir);
  mkdirSync(cluster, { recursive: true });
  await removeRunFolder(folder);
  expect([existsSync(folder), existsSync(dirname(cluster))]).toEqual([false, false]);
});

test('broken notes do not keep a folder from being removed', async () => {
  const folder = await testFolder();
  for (const name of ['supervisor.json', 'postgres-location']) writeFileSync(join(folder, name), '');
  await removeRunFolder(folder);
  expect(existsSync(folder)).toBe(false);
});
