import { chmodSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { testFolder } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { clusterFolder } from '../src/postgres/location.ts';
import { takeFolder } from '../src/processes/ownership.ts';
import { removeData } from '../src/system/remove-data.ts';
import { loadSecrets, readCredentials } from '../src/system/secrets.ts';

const damaged = ['', '{"POSTGRES_PASS', 'null', '[]', '{"supervisor": 1, "POSTGRES_PASSWORD": 1}'];

async function folderWith(name: string, content: string): Promise<string> {
  const folder = await testFolder();
  writeFileSync(join(folder, name), content);
  return folder;
}

test.each(damaged)('credentials.json with %j counts as none', async (content) => {
  const folder = await folderWith('credentials.json', content);
  expect(readCredentials(join(folder, 'credentials.json'))).toBeUndefined();
});

test.each(damaged)('secrets.json with %j is named with what to do, and reset starts over', async (content) => {
  const folder = await folderWith('secrets.json', content);
  const file = join(folder, 'secrets.json');
  expect(() => loadSecrets(folder, [], {})).toThrow(
    expect.objectContaining({ name: 'OperatorFault', message: expect.stringContaining(file) }),
  );
  expect(() => loadSecrets(folder, [], {})).toThrow('npm run reset');
  expect(await removeData(folder)).toEqual([]);
});

test.each(damaged)('supervisor.json with %j is named with what to do, to start and to reset alike', async (content) => {
  const folder = await folderWith('supervisor.json', content);
  const file = join(folder, 'supervisor.json');
  for (const work of [takeFolder, removeData])
    await expect(work(folder)).rejects.toMatchObject({
      name: 'OperatorFault',
      message: expect.stringContaining(`${file} is empty, cut off`),
    });
  await expect(removeData(folder)).rejects.toThrow('remove this file');
  rmSync(file);
  expect(await removeData(folder)).toEqual([]);
});

test.each(['', '/var/lib/agent-service/data-ab', '/etc/postgres'])(
  'a note of the cluster’s place with %j leads nowhere',
  async (content) => {
    const folder = await folderWith('postgres-location', content);
    expect(() => clusterFolder(folder)).toThrow('postgres-location does not name a cluster');
    await expect(removeData(folder)).rejects.toThrow('postgres-location does not name a cluster');
    rmSync(join(folder, 'postgres-location'));
  },
);

// Only root's clusters are outside of DATA_DIR.
(process.getuid?.() === 0 ? test : test.skip)(
  'a copy of DATA_DIR is refused where the database is elsewhere, and a moved one is not',
  async () => {
    const closed = await testFolder();
    chmodSync(closed, 0o700);
    const [original, copy, moved] = ['data', 'copy', 'moved'].map((name) => join(closed, name)) as [string, string, string];
    mkdirSync(original);
    const cluster = clusterFolder(original);
    try {
      mkdirSync(cluster);
      cpSync(original, copy, { recursive: true });
      expect(() => clusterFolder(copy)).toThrow(`${copy} is a copy of ${original}`);
      await expect(removeData(copy)).rejects.toThrow(`${copy} is a copy of ${original}`);
      expect(existsSync(cluster)).toBe(true);
      renameSync(original, moved);
      expect(clusterFolder(moved)).toBe(cluster);
      await expect(removeData(copy)).rejects.toThrow(`${copy} is a copy of ${moved}`);
      expect(await removeData(moved)).toEqual([]);
      expect(existsSync(dirname(cluster))).toBe(false);
      expect(clusterFolder(copy)).toBe(cluster);
      expect(statSync(dirname(cluster)).mode & 0o777).toBe(0o711);
      expect(await removeData(copy)).toEqual([]);
    } finally {
      rmSync(dirname(cluster), { recursive: true, force: true });
    }
  },
);

test('reset removes what a process that was killed could not rename or remove, which has secrets', async () => {
  const folder = await folderWith('secrets.json.4194304.0123abcd', '{"POSTGRES_PASSWORD":"hunter2"}');
  writeFileSync(join(folder, '.password.4194304'), 'hunter2');
  writeFileSync(join(folder, 'postgres-location.4194304.0123abcd'), '');
  expect(await removeData(folder)).toEqual([]);
});
