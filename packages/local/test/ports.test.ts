import { expect, test } from '@jest/globals';
import { freePort, hostInUrl, isFree, reservePort } from '../src/host/ports.ts';
import { catalogue } from '../src/system/catalogue.ts';
import { planInstances } from '../src/system/plan.ts';

test.each([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '127.0.0.1'],
  ['::1', '[::1]'],
  ['192.0.2.7', '192.0.2.7'],
  ['localhost', 'localhost'],
])('a server that listens on %s is reached at %s', (address, host) => {
  expect(hostInUrl(address)).toBe(host);
});

test('a port that is known to be for something else is never given away', async () => {
  const range = Array.from({ length: 10_000 }, (_, index) => 20_000 + index);
  const free: number[] = [];
  for (const port of range.toReversed()) if (free.length < 3 && (await isFree(port))) free.push(port);
  const [PORT, PORTAL_PORT, left] = free as [number, number, number];
  for (const port of range) if (!free.includes(port)) reservePort(port);
  const gateway = catalogue.filter(({ name }) => name === 'gateway');
  expect(await planInstances(gateway, new Map(), { PORT, PORTAL_PORT })).toMatchObject([{ port: PORT, opsPort: left }]);
  await expect(freePort()).rejects.toThrow('no free port');
});
