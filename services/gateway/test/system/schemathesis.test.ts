// Requests that schemathesis makes from the OpenAPI document, with all of its checks. It is installed from PyPI, so this is a long form:
// npm run test:long -- schemathesis, with SCHEMATHESIS_REQUESTS for fewer or more than 20,000 requests.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { seed } from '@agent-service/local/seed';
import { type Credentials, readCredentials } from '@agent-service/local/system/secrets';
import { pythonWith, runProgram, runSeed, testFolder } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { everyRoute } from '../../src/routes/index.ts';
import { makers } from './requests.ts';
import { startWorld, type World, withWebhooks } from './world.ts';

const long = process.env['SCHEMATHESIS'] === 'long' ? describe : describe.skip;
const requests = Number(process.env['SCHEMATHESIS_REQUESTS'] ?? 2_000);
/** Each operation is sent its share of random requests. It is a larger share than an equal one, because some have fewer distinct requests than that. */
const perOperation = Math.ceil((1.4 * requests) / everyRoute.length);
const hooks = resolve('services/gateway/test/system/schemathesis_hooks.py');
const settings = resolve('services/gateway/test/system/schemathesis.toml');

/** Resources for each method, since a deleted agent answers nothing, and neither does one that a PATCH made inactive. */
async function makeIdsByMethod(world: World): Promise<Record<string, Record<string, string>>> {
  const [anyRoute] = everyRoute;
  if (!anyRoute) throw new Error('there are no routes');
  const sets: Record<string, Record<string, string>> = {};
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const ids: Record<string, string> = {};
    for (const [name, maker] of Object.entries(makers)) ids[name] = await maker.make(world, world.ours, ids, anyRoute);
    sets[method] = ids;
  }
  return sets;
}

/** The credentials that the examples of the document stand for. */
async function exampleCredentials(world: World): Promise<Record<string, { example: string; own: string }>> {
  const dataDir = await testFolder();
  await seed({ ...world.system, dataDir });
  const { api_keys: keys, oauth } = readCredentials(join(dataDir, 'credentials.json')) as Credentials;
  const own: Record<string, string> = { api_key: keys.live, ...oauth };
  const document = (await world.call(undefined, { method: 'GET', path: '/openapi.json' })).text;
  return Object.fromEntries(
    Object.entries(own).flatMap(([name, value]) => {
      const example = new RegExp(`"${name}":"([^"]+)"`).exec(document)?.[1];
      return example === undefined ? [] : [[name, { example, own: value }]];
    }),
  );
}

/** The first findings of the output, which begins with much else. */
const findingsOf = (output: string): string => /^=+ (?:ERRORS|FAILURES) =+$.{1,10000}/ms.exec(output)?.[0] ?? '';

long(`${requests} requests of schemathesis`, () => {
  let world: World;
  let programs: string;
  beforeAll(async () => {
    programs = await pythonWith('schemathesis', ['schemathesis==4.32.5']);
    world = await startWorld(withWebhooks);
  }, 400_000);
  afterAll(() => world?.stop(), 60_000);

  test(
    'find nothing',
    async () => {
      const { key } = await world.makeKey(world.ours, 'live', { admin: true });
      const folder = await testFolder();
      const ids = join(folder, 'ids.json');
      writeFileSync(ids, JSON.stringify({ ...(await makeIdsByMethod(world)), credentials: await exampleCredentials(world) }));
      const junit = join(folder, 'report.xml');
      const words = ['--config-file', settings, 'run', `${world.system.url}/openapi.json`, '--header', `Authorization: Bearer ${key}`];
      const limits = [
        '--max-examples',
        String(perOperation),
        '--seed',
        String(runSeed('schemathesis')),
        // Two threads of CPython 3.11 that parse source at the same time fail: "AST constructor recursion depth mismatch".
        '--workers',
        '1',
        '--request-timeout',
        '70',
      ];
      const choice = ['--checks', 'all', '--mode', 'all', '--phases', 'examples,coverage,fuzzing', '--continue-on-failure'];
      const report = ['--no-color', '--report', 'junit', '--report-junit-path', junit];
      const env = { SCHEMATHESIS_HOOKS: hooks, SCHEMATHESIS_IDS: ids };
      // It ends with 1 when it has findings.
      const options = { cwd: folder, env, accepted: [0, 1] };
      const output = await runProgram(join(programs, 'schemathesis'), [...words, ...limits, ...choice, ...report], options);
      process.stdout.write(`${/^Test cases:\n.*$/m.exec(output)?.[0]}\n`);
      expect(findingsOf(output)).toBe('');
      const [, generated = '0'] = /(\d+) generated/.exec(output) ?? [];
      expect(Number(generated)).toBeGreaterThanOrEqual(requests);
      expect(readFileSync(junit, 'utf8')).not.toMatch(/<(failure|error)\b/);
    },
    300_000 + requests * 1_000,
  );
});
