// The blocks that the documents mark with `run` run as they are written, one document in one shell, and print what the document says (… stands for any text).
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { bringUpDemonstration } from '@agent-service/local/demonstration/database';
import { seed } from '@agent-service/local/seed';
import { readCredentials } from '@agent-service/local/system/secrets';
import { sharedSystem, testFolder } from '@agent-service/testkit';
import { testBuild } from '@agent-service/testkit/infrastructure/settings';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { blocksOf, needWords, readDocuments } from './blocks.mjs';
import { findLacks, needs } from './needs/index.mjs';
import { needsOf, stepsOf, walk } from './walk.mjs';

const limitMs = 300_000;
/** Images are built, and pods become ready. */
const neededLimitMs = 1_800_000;
/** Two documents show the path of a newcomer; the long form runs all. */
const short = ['README.md', 'docs/guides/first-agent.md'];
const isLong = process.env.DOCUMENTS === 'long';
/** These documents install a release that others look at. */
const first = ['docs/operations/install.md'];
/** Why needs of blocks are not met here. The short form runs none of those blocks. */
const lacks = isLong ? findLacks() : new Map(Object.keys(needs).map((name) => [name, 'the short form leaves it out']));
const met = new Set(Object.keys(needs).filter((name) => !lacks.has(name)));
const marked = [...readDocuments()]
  .map(([path, text]) => ({ path, text, steps: stepsOf(text, met) }))
  .filter(({ steps }) => steps.length > 0);
const documents = marked
  .filter(({ path }) => isLong || short.includes(path))
  .sort((a, b) => Number(first.includes(b.path)) - Number(first.includes(a.path)));

const say = (line) => process.stdout.write(`${line}\n`);

/** Says of each block that is left out what is missing for it. */
function reportLacks() {
  for (const [path, text] of readDocuments())
    for (const block of blocksOf(text)) {
      const missing = needsOf(block).filter((need) => lacks.has(need));
      if (missing.length > 0)
        say(`not run: ${path}:${block.line} needs ${missing.map((need) => `${needWords[need]} (${lacks.get(need)})`).join(' and ')}`);
    }
}

const prepared = new Map();

/** Prepares what the steps of a document need, each need once for all documents. */
async function prepareFor(steps) {
  const names = [...new Set(steps.flatMap(needsOf))];
  for (const name of names) if (!prepared.has(name)) prepared.set(name, await needs[name].prepare(await testFolder()));
  return names.map((name) => prepared.get(name));
}

let system;
let folder;
let sourceUrl;

beforeAll(async () => {
  system = await sharedSystem();
  folder = await testFolder();
  // A demonstration organization of this file's own.
  await seed({ ...system, dataDir: folder });
  sourceUrl = await bringUpDemonstration({ adminUrl: system.endpoints['postgres'] ?? '', readerPassword: system.demonstrationPassword });
  if (isLong) reportLacks();
}, limitMs);
afterAll(async () => {
  system?.leave();
  for (const { finish } of [...prepared.values()].reverse()) await finish?.();
}, limitMs);

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
  async ({ path, text, steps }) => {
    const preparations = await prepareFor(steps);
    const env = {
      ...process.env,
      // The system that other files use belongs to another DATA_DIR than the credentials of this one.
      DATA_DIR: system.dataDir,
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      AGENT_SERVICE_KEY: readCredentials(join(folder, 'credentials.json'))?.api_keys.live,
      KEY_HASH_SECRET: 'the secret of a reader',
      ...Object.assign({}, ...preparations.map((preparation) => preparation.env)),
    };
    const adaptAll = (script) => adapt(preparations.reduce((text, preparation) => preparation.adapt?.(text) ?? text, script));
    const report = (step, seconds) => {
      if (needsOf(step).length > 0)
        say(
          `run: ${path}:${step.line} with ${needsOf(step)
            .map((need) => needWords[need])
            .join(' and ')}, ${seconds.toFixed(1)} s`,
        );
    };
    const options = { cwd: await readersFolder(), env, repository: resolve('.'), adapt: adaptAll, needs: met, report };
    const { faults } = await walk(text, { ...options, timeoutMs: preparations.length > 0 ? neededLimitMs : limitMs });
    for (const { check } of preparations) faults.push(...((await check?.()) ?? []));
    expect(faults).toEqual([]);
  },
  neededLimitMs,
);
