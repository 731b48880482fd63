import { expect, jest, test } from '@jest/globals';
import { printableFailure } from './commands.ts';
import { buildProgram } from './program.ts';

test.each(['portal.example.com', 'portal.example.com:8081', 'ftp://portal.example.com'])('no link is made for %s', async (address) => {
  const createPasswordReset = jest.fn(async () => ({ token: 't', expiresAt: '' }));
  const connection = { identity: { createPasswordReset }, portalUrl: undefined, close: () => undefined };
  const words = ['user', 'reset-link', '--organization', 'org_a', '--user', 'usr_a', '--portal-url', address];
  const run = buildProgram({}, () => connection as never).parseAsync(words, { from: 'user' });
  expect(await run.then(() => 'no failure', printableFailure)).toContain('begins with http:// or https://');
  expect(createPasswordReset).not.toHaveBeenCalled();
});
