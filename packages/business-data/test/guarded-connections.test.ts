import { networksSetting } from '@agent-service/outbound';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDataSource } from '../src/index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

async function check(host: string, networks: string): Promise<string> {
  const url = new URL(database.url);
  url.hostname = host;
  url.searchParams.set('sslmode', 'disable');
  const source = createDataSource({ url: url.href, allowedNetworks: networksSetting().parse(networks), poolMax: 1 }, () => undefined);
  try {
    await source.check();
    return 'connected';
  } finally {
    await source.close();
  }
}

const failure = (host: string, networks = '') =>
  check(host, networks).catch(({ kind, message }: { kind: string; message: string }) => `${kind}: ${message}`);

test('a guarded connection leads to allowed networks only, by address and by name', async () => {
  const loopback = '127.0.0.0/8,::1/128';
  for (const host of ['127.0.0.1', 'localhost']) expect([host, await failure(host, loopback)]).toEqual([host, 'connected']);
  // The URL parser leaves hosts of unknown schemes as they are: another spelling of an address is a name here.
  for (const host of ['127.0.0.1', 'localhost', '127.1', '0x7f000001', '2130706433', '[::1]', '[::ffff:127.0.0.1]', '10.0.0.1'])
    expect([host, await failure(host, '192.168.0.0/16')]).toEqual([
      host,
      expect.stringMatching(/^refused: .*private or reserved|^unavailable/),
    ]);
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '169.254.169.254'])
    expect([host, await failure(host)]).toEqual([host, expect.stringMatching(/^refused: .*private or reserved/)]);
});

test('the refusal of a name comes from its addresses, also after it was allowed', async () => {
  expect(await failure('localhost', '10.0.0.0/8')).toMatch(/^refused: .*private or reserved/);
});
