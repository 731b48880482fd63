import type { Exchange } from '@agent-service/http/replies/exchange';
import type { Health } from '@agent-service/runtime';
import { expect, test } from '@jest/globals';
import { fixedPage, readyz } from './pages.ts';

const exchange = { request: { acceptsEncodings: () => 'identity', get: () => undefined } } as unknown as Exchange;

test('a page that could not be loaded is loaded again for the next request, and only once after that', async () => {
  let loads = 0;
  const load = async () => {
    loads += 1;
    if (loads === 1) throw new Error('EMFILE: too many open files');
    return 'the page';
  };
  const page = fixedPage('/page', load, {});
  await expect(async () => await page.answer(exchange)).rejects.toThrow('EMFILE');
  for (const _request of [1, 2]) expect(await page.answer(exchange)).toMatchObject({ status: 200, body: Buffer.from('the page') });
  expect(loads).toBe(2);
});

test('the public readiness names the checks that fail, and not why', async () => {
  const report = async () => ({ ready: false, faults: { agents: 'connect ECONNREFUSED 10.0.0.7:50051' } });
  const page = readyz({ report } as unknown as Health);
  await expect(async () => await page.answer(exchange)).rejects.toMatchObject({
    code: 'unavailable',
    details: { faults: { agents: 'failed' } },
  });
});
