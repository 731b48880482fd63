import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { ensureBuildAt, removeOldBuilds } from './build/builds.mjs';

const run = promisify(execFile);
const script = fileURLToPath(new URL('./build.mjs', import.meta.url));
const root = dirname(dirname(script));

/** The global setup of the tests has made it. */
const buildOfSources = async () => (await run(process.execPath, [script])).stdout.trim();

test('builds at the same time find the same folder, complete', async () => {
  const drafts = (folder) => readdirSync(dirname(folder)).filter((name) => /^[0-9a-f]{16}\./.test(name));
  const before = drafts(await buildOfSources());
  const folders = await Promise.all([buildOfSources(), buildOfSources()]);
  expect(folders[0]).toBe(folders[1]);
  for (const service of readdirSync(join(root, 'services'))) expect(existsSync(join(folders[0], `${service}.js`))).toBe(true);
  expect(drafts(folders[0]).filter((name) => !before.includes(name))).toEqual([]);
});

test('old builds are removed, and drafts that a killed process left', () => {
  const cache = mkdtempSync(join(tmpdir(), 'agent-service-builds-'));
  const [hour, now] = [3_600, Date.now() / 1_000];
  const ages = { [`${'a'.repeat(16)}.1`]: 2 * hour, [`${'b'.repeat(16)}.2`]: 1, ['c'.repeat(16)]: 2 * hour, ['d'.repeat(16)]: 3 * hour };
  for (const [name, age] of Object.entries(ages)) {
    mkdirSync(join(cache, name));
    utimesSync(join(cache, name), now - age, now - age);
  }
  removeOldBuilds(cache, 1);
  expect(readdirSync(cache).sort()).toEqual([`${'b'.repeat(16)}.2`, 'c'.repeat(16)]);
  rmSync(cache, { recursive: true });
});

test('the link leads to the build that was asked for last, and the builds used before it are removed', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'agent-service-builds-'));
  const [first, second] = ['a', 'b'].map((letter) => join(cache, letter.repeat(16)));
  const link = join(cache, 'current');
  let count = 0;
  const make = (folder) => {
    count += 1;
    mkdirSync(folder);
  };
  for (const folder of [first, first, second]) {
    expect(await ensureBuildAt(folder, make, { retained: 1, link })).toBe(folder);
    expect(readlinkSync(link)).toBe(folder);
    // The next build is used later.
    utimesSync(folder, 1, 1);
  }
  expect(count).toBe(2);
  expect(readdirSync(cache).sort()).toEqual(['b'.repeat(16), 'current']);
  rmSync(cache, { recursive: true });
});

test('stack traces of a bundle name the sources', async () => {
  const folder = await buildOfSources();
  const program = `await import(${JSON.stringify(pathToFileURL(join(folder, 'identity.js')).href)})`;
  const settings = {
    DATABASE_URL: 'postgres://%ff@127.0.0.1:1/none',
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32).toString('base64')}`,
    ...Object.fromEntries(['SERVICE_SECRET', 'KEY_HASH_SECRET', 'CURSOR_SECRET'].map((name) => [name, 'x'.repeat(32)])),
  };
  const { stderr } = await run(process.execPath, ['--input-type=module', '-e', program], { env: settings }).catch((cause) => cause);
  expect(stderr).toContain('URIError: URI malformed');
  expect(stderr).toMatch(/packages\/store\/src\/servers\/primary\.ts:\d+:\d+\)/);
});

test('a build finds the files of the repository from any folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-service-build-'));
  try {
    await run(process.execPath, [script, '--out', folder]);
    const { stdout } = await run(process.execPath, [join(folder, 'admin.js'), '--help']);
    expect(stdout).toContain('Usage: admin');
    expect(readFileSync(join(folder, 'credits.js'), 'utf8')).toContain('//# sourceMappingURL=credits.js.map');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a build is named by its sources, also below a folder that is called gen', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-service-build-'));
  try {
    // A folder of this name inside of a package holds generated files.
    const repository = join(folder, 'gen');
    const sources = join(repository, 'services', 'one', 'src');
    cpSync(dirname(script), join(repository, 'scripts'), { recursive: true });
    for (const path of [sources, join(repository, 'packages')]) mkdirSync(path, { recursive: true });
    writeFileSync(join(repository, 'package-lock.json'), '{}');
    const program = `console.log((await import(${JSON.stringify(pathToFileURL(join(repository, 'scripts', 'build.mjs')).href)})).buildFolder())`;
    const buildWith = async (source) => {
      writeFileSync(join(sources, 'main.ts'), source);
      return (await run(process.execPath, ['--input-type=module', '-e', program])).stdout;
    };
    expect(await buildWith('export const one = 1;')).not.toBe(await buildWith('export const one = 2;'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
