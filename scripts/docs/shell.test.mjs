// The blocks that the documents mark with `run` run as they are written, one document in one shell, and print what the document says (… stands for any text).
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { bringUpDemonstration } from '@agent-service/local/demonstration/database';
import { seed } from '@agent-service/local/seed';
import { readCredentials } from '@agent-service/local/system/secrets';
import { sharedSystem, testFolder } from '@agent-service/testkit';
import { testBuild } from '@agent-service/testkit/infrastructure/settings';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readDocuments } from './blocks.mjs';
import { stepsOf, walk } from './walk.mjs';

const limitMs = 300_000;
/** Two documents show the path of a newcomer; the long form runs all. */
const short = ['README.md', 'docs/guides/first-agent.md'];
const isLong = process.env.DOCUMENTS === 'long';
const marked = [...readDocuments()].map(([path, text]) => ({ path, text })).filter(({ text }) => stepsOf(text).length > 0);
const documents = marked.filter(({ path }) => isLong || short.includes(path));

let system;
let folder;
let sourceUrl;

beforeAll(async () => {
  system = await sharedSystem();
  folder = await testFolder();
  // A demonstration organization of this file's own.
  await seed({ ...system, dataDir: folder });
  sourceUrl = await bringUpDemonstration({ adminUrl: system.endpoints['postgres'] ?? '', readerPassword: system.demonstrationPassword });
}, limitMs);
afterAll(() => system?.leave());

/** Replaces the differences between a reader's machine and this one: where the system and its credentials are, the reader's database, and folders for what is built. */
const adapt = (script) =>
  script
    .replaceAll(/\/tmp\/agent-service-(client|python|testcontainers)\b/g, `${folder}/$1`)
    .replaceAll('http://127.0.0.1:8080', system.url)
    .replaceAll('./.data/', `${folder}/`)
    .replaceAll(/postgres:\/\/[^']*@db\.example\.com[^']*/g, sourceUrl)
    .replaceAll('npm run --silent admin --', `node ${testBuild ? join(testBuild, 'admin.js') : resolve('packages/cli/src/main.ts')}`);

/** The folder of a reader whose project has the client. */
async function readersFolder() {
  const cwd = await testFolder();
  writeFileSync(join(cwd, 'package.json'), '{ "private": true }');
  mkdirSync(join(cwd, 'node_modules', '@agent-service'), { recursive: true });
  symlinkSync(resolve('packages/client'), join(cwd, 'node_modules', '@agent-service', 'client'));
  return cwd;
}

test('the README, the guides and the clients have blocks to run', () => {
  expect(marked.map(({ path }) => path)).toEqual(
    expect.arrayContaining([
      'README.md',
      'clients/python/README.md',
      'docs/guides/first-agent.md',
      'docs/guides/own-data-source.md',
      'docs/guides/streaming.md',
      'packages/client/README.md',
    ]),
  );
});

test.each(documents)(
  'the blocks of $path print what it says',
  async ({ text }) => {
    const env = {
      ...process.env,
      // The system that other files use belongs to another DATA_DIR than the credentials of this one.
      DATA_DIR: system.dataDir,
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      AGENT_SERVICE_KEY: readCredentials(join(folder, 'credentials.json'))?.api_keys.live,
      KEY_HASH_SECRET: 'the secret of a reader',
    };
    const { faults } = await walk(text, { cwd: await readersFolder(), env, repository: resolve('.'), adapt, timeoutMs: limitMs });
    expect(faults).toEqual([]);
  },
  limitMs,
);
