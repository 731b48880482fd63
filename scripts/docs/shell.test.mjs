// The blocks of shell that the documents mark with `run` run as they are written, one document in one shell, and print what the document says (… stands for any text).
import { execFile } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bringUpDemonstration } from '@agent-service/local/demonstration/database';
import { seed } from '@agent-service/local/seed';
import { sharedSystem, testFolder } from '@agent-service/testkit';
import { testBuild } from '@agent-service/testkit/infrastructure/settings';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { blocksOf, readDocuments } from './blocks.mjs';

const limitMs = 300_000;
const separator = '=== the next block';
const isRun = ({ language, marks }) => language === 'sh' && marks.includes('run');
/** Two documents show the path of a newcomer; the long form runs all. */
const short = ['README.md', 'docs/guides/first-agent.md'];
const isLong = process.env.DOCUMENTS === 'long';
const marked = [...readDocuments()].map(([path, text]) => ({ path, blocks: blocksOf(text) })).filter(({ blocks }) => blocks.some(isRun));
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

/** Replaces the differences between a reader's machine and this one: where the system and its credentials are, and the reader's database. */
const adapt = (script) =>
  script
    .replaceAll('http://127.0.0.1:8080', system.url)
    .replaceAll('./.data/', `${folder}/`)
    .replaceAll(/postgres:\/\/[^']*@db\.example\.com[^']*/g, sourceUrl)
    .replaceAll('npm run --silent admin --', `node ${testBuild ? join(testBuild, 'admin.js') : resolve('packages/cli/src/main.ts')}`);

/** The expected output as a pattern. */
const patternOf = (output) =>
  new RegExp(
    `^${output
      .trim()
      .split('…')
      .map((part) => part.replaceAll(/[{}[\]().*+?^$|\\/]/g, '\\$&'))
      .join('[\\s\\S]*')}$`,
  );

test('the README and the guides have blocks to run', () => {
  expect(marked.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['README.md', 'docs/guides/first-agent.md', 'docs/guides/own-data-source.md']),
  );
});

test.each(documents)(
  'the commands of $path print what it says',
  async ({ blocks }) => {
    const steps = blocks.flatMap((block, index) => {
      const next = blocks[index + 1];
      return isRun(block) ? [{ ...block, output: next?.marks.includes('output') ? next.content : undefined }] : [];
    });
    const script = steps.map(({ content }) => adapt(content)).join(`\necho; echo "${separator}"\n`);
    // The system that other files use belongs to another DATA_DIR than the credentials of this one.
    const env = { ...process.env, DATA_DIR: system.dataDir, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
    const { stdout } = await promisify(execFile)('bash', ['-euc', script], { cwd: await testFolder(), env, timeout: limitMs });
    const outputs = stdout.split(separator);
    expect(outputs).toHaveLength(steps.length);
    for (const [index, { output, line }] of steps.entries())
      if (output !== undefined)
        expect(`line ${line}: ${outputs[index]?.trim()}`).toMatch(new RegExp(`^line ${line}: ${patternOf(output).source.slice(1)}`));
  },
  limitMs,
);
