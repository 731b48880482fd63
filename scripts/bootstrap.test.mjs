import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testFolder, until } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';

const script = fileURLToPath(new URL('bootstrap.mjs', import.meta.url));

/** A checkout without dependencies and without protos, whose bootstrap ends where it would generate types. */
async function emptyCheckout() {
  const folder = await testFolder();
  for (const name of ['scripts/build', 'proto', '.cache']) await mkdir(join(folder, name), { recursive: true });
  await copyFile(script, join(folder, 'scripts', 'bootstrap.mjs'));
  await writeFile(join(folder, 'scripts', 'build', 'protos.mjs'), '');
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'empty', version: '1.0.0' }));
  const packages = { '': { name: 'empty', version: '1.0.0' } };
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ name: 'empty', version: '1.0.0', lockfileVersion: 3, packages }));
  return folder;
}

const bootstrap = (folder) =>
  new Promise((resolve) => {
    execFile(process.execPath, [join(folder, 'scripts', 'bootstrap.mjs')], { timeout: 60_000 }, (_cause, stdout) => resolve(stdout));
  });

test.each([
  ['could not write its name: the disk was full', ''],
  ['has ended', '4194304 1'],
])('a lock whose owner %s keeps no later command waiting', async (_, content) => {
  const folder = await emptyCheckout();
  const lock = join(folder, '.cache', 'bootstrap.lock');
  await writeFile(lock, content);
  const before = new Date(Date.now() - 6_000);
  await utimes(lock, before, before);
  const output = await bootstrap(folder);
  expect(output).toContain('Installing dependencies');
  expect(output).not.toContain('Waiting for another command');
});

test('packages that are missing from a workspace are installed again', async () => {
  const folder = await emptyCheckout();
  const nested = 'packages/one/node_modules/two';
  for (const path of [nested, 'node_modules']) await mkdir(join(folder, path), { recursive: true });
  expect(await bootstrap(folder)).toContain('Installing dependencies');
  // As npm leaves it behind an installation with a package below a workspace.
  await mkdir(join(folder, 'node_modules'), { recursive: true });
  await writeFile(join(folder, 'node_modules', '.package-lock.json'), JSON.stringify({ packages: { [nested]: { version: '1.0.0' } } }));
  expect(await bootstrap(folder)).not.toContain('Installing dependencies');
  await rm(join(folder, 'packages'), { recursive: true });
  expect(await bootstrap(folder)).toContain('Installing dependencies');
});

test('a signal ends the installation that is under way, before the next command may begin its own', async () => {
  const folder = await emptyCheckout();
  const npm = join(folder, 'npm-cli.js');
  const pidFile = join(folder, 'npm.pid');
  await writeFile(npm, `require('fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); setTimeout(() => {}, 60_000);`);
  const command = spawn(process.execPath, [join(folder, 'scripts', 'bootstrap.mjs')], { env: { ...process.env, npm_execpath: npm } });
  const pid = () => readFile(pidFile, 'utf8').then(Number, () => 0);
  await until('npm runs', async () => (await pid()) > 0);
  command.kill('SIGTERM');
  expect(await once(command, 'exit')).toEqual([143, null]);
  const installer = await pid();
  expect(() => process.kill(installer, 0)).toThrow('ESRCH');
});

test('what an interrupted generation has left is removed by the next one', async () => {
  const folder = await emptyCheckout();
  const left = join(folder, 'packages', 'contracts', 'src', 'gen.4194304');
  for (const path of [left, join(folder, 'node_modules')]) await mkdir(path, { recursive: true });
  await bootstrap(folder);
  expect(existsSync(left)).toBe(false);
});
