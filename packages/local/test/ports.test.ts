import { expect, test } from '@jest/globals';
import { freePort, isFree, reservePort } from '../src/host/ports.ts';
import { catalogue } from '../src/system/catalogue.ts';
import { planInstances } from '../src/system/plan.ts';

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
