import { readdirSync } from 'node:fs';
import { afterEach, expect, jest, test } from '@jest/globals';
import { printableFailure } from './commands.ts';
import { buildProgram } from './program.ts';

afterEach(() => void jest.restoreAllMocks());

const unset = '';

test.each([
  ['the scopes of a key', ['key', 'create', '--user', 'usr_a', '--scopes', unset]],
  ['the scopes of an application', ['oauth-client', 'create', '--scopes', ` ,${unset}`]],
  ['the lifetime of tokens', ['key', 'create', '--user', 'usr_a', '--token-ttl', '0']],
])('%s that an option leaves empty are refused, and nothing is created with the default', async (_, words) => {
  jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const connect = jest.fn<() => never>();
  const run = buildProgram({}, connect).parseAsync([...words, '--organization', 'org_a', '--environment', 'live'], { from: 'user' });
  expect(await run.then(() => 'no failure', printableFailure)).toMatch(/argument '.*' is invalid/);
  expect(connect).not.toHaveBeenCalled();
});

test('an option that is given twice is refused, and not even the last value takes effect', async () => {
  const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const connect = jest.fn<() => never>();
  const run = buildProgram({}, connect).parseAsync(['key', 'revoke', '--key', 'key_a', '--key', 'key_b'], { from: 'user' });
  await expect(run).rejects.toMatchObject({ exitCode: 1 });
  expect(written.mock.calls.join()).toContain("option '--key <id>' is given more than once");
  expect(connect).not.toHaveBeenCalled();
});

test.each(readdirSync(new URL('../../../services', import.meta.url)))('the keys of %s can be printed', async (service) => {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const env = { SERVICE_SECRET: 'a-secret-of-at-least-32-characters-for-this-test' };
  const words = ['--json', 'service-keys', 'print', '--service', service];
  await buildProgram(env, jest.fn<() => never>()).parseAsync(words, { from: 'user' });
  const { SERVICE_KEYS: keys } = JSON.parse(String(written.mock.calls[0]?.[0])) as { SERVICE_KEYS: string };
  expect(keys).toMatch(service === 'agents' ? /(^|,)credits:/ : /(^|,)agents:/);
});
