// The Python client against a running system. Its tools are installed from PyPI, so this is a long form: npm run test:long -- python
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pythonWith, runProgram, servedAnswers, testFolder } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startFaultProxy } from './support/fault-proxy.ts';
import { type ClientWorld, startClientWorld } from './support/world.ts';

const long = process.env['PYTHON_CLIENT'] === 'long' ? describe : describe.skip;
const folder = 'clients/python';

long('the Python client', () => {
  let world: ClientWorld;
  let programs: string;
  beforeAll(async () => {
    programs = await pythonWith('client', packagesOf(readFileSync(join(folder, 'pyproject.toml'), 'utf8')));
    world = await startClientWorld({ ANSWER_WAIT_SECONDS: '1', WEBHOOKS_ENABLED: 'true' });
  }, 400_000);
  afterAll(() => world?.stop(), 60_000);

  const run = (program: string, ...words: string[]) =>
    runProgram(join(programs, program), words, { cwd: folder, env: { PATH: `${programs}:${process.env['PATH']}` } });

  test('follows from the OpenAPI document of the gateway', async () => {
    const file = join(await testFolder(), 'openapi.json');
    writeFileSync(file, await (await fetch(`${world.system.url}/openapi.json`)).text());
    await run('python', 'generate.py', file, '--check');
  });

  test('is formatted, linted and typed strictly', async () => {
    await run('ruff', 'format', '--check', '.');
    await run('ruff', 'check', '.');
    await run('mypy');
  }, 120_000);

  test('passes its own tests, and its examples run', async () => {
    // Neither proxy breaks anything that it is not told to.
    const direct = await startFaultProxy(world.system.url, await servedAnswers(world.system.url));
    const output = await runProgram(join(programs, 'pytest'), [], {
      cwd: folder,
      env: {
        PYTHONPATH: 'src',
        AGENT_SERVICE_URL: direct.url,
        AGENT_SERVICE_PROXY: world.proxy.url,
        AGENT_SERVICE_KEY: world.credentials.api_keys.live,
        AGENT_SERVICE_CLIENT_ID: world.credentials.oauth.client_id,
        AGENT_SERVICE_CLIENT_SECRET: world.credentials.oauth.client_secret,
      },
    });
    await direct.stop();
    expect(output).toMatch(/\d+ passed/);
    expect([...direct.undocumented, ...world.proxy.undocumented]).toEqual([]);
  }, 300_000);
});

/** The dependencies and the tools that the project names. */
function packagesOf(project: string): string[] {
  const lists = [...project.matchAll(/^(?:dependencies|dev) = (\[.*\])$/gm)];
  return lists.flatMap(([, list]) => JSON.parse(list ?? '[]') as string[]);
}
