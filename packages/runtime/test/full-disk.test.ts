import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const program = fileURLToPath(new URL('./log-to-full-disk.mjs', import.meta.url));

test('a process whose log cannot be written, as on a full disk, works on and ends when it is told', () => {
  const full = openSync('/dev/full', 'w');
  const { status, stderr } = spawnSync(process.execPath, [program], { stdio: ['ignore', full, 'pipe'], encoding: 'utf8', timeout: 20_000 });
  closeSync(full);
  expect(stderr).toBe('works\n');
  expect(status).toBe(3);
});
