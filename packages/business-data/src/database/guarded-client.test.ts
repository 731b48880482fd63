import { afterEach, expect, test } from '@jest/globals';
import { GuardedClient } from './guarded-client.ts';

const { PGPASSWORD } = process.env;
afterEach(() => {
  process.env['PGPASSWORD'] = PGPASSWORD;
  if (PGPASSWORD === undefined) delete process.env['PGPASSWORD'];
});

test('the server of a URL without a password does not get that of the service', async () => {
  process.env['PGPASSWORD'] = 'of the service';
  for (const password of [undefined, '']) {
    const client = new GuardedClient({ host: '127.0.0.1', user: 'reader', ...(password !== undefined && { password }) });
    expect(await (client.password as unknown as () => string)()).toBe('');
  }
  expect(new GuardedClient({ password: 'of the URL' }).password).toBe('of the URL');
});
