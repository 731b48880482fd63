import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runBatch } from './run-batch.ts';

test('every failing item ends alone, in the order of the items, and the others run with few further calls', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 64 }), async (isGood) => {
      const items = isGood.map((good, n) => ({ good, n }));
      const ended: number[] = [];
      let calls = 0;
      const left = await runBatch(items, async (batch, pending) => {
        calls += 1;
        expect(pending().map(({ n }) => n)).toEqual(items.slice((batch.at(-1)?.n ?? 0) + 1).map(({ n }) => n));
        if (batch.length > 1 && batch.some(({ good }) => !good)) return 'halve';
        ended.push(...batch.map(({ n }) => n));
        return 'done';
      });
      expect(left).toEqual([]);
      expect(ended).toEqual(items.map(({ n }) => n));
      const failures = isGood.filter((good) => !good).length;
      expect(calls).toBeLessThanOrEqual(1 + 2 * failures * Math.ceil(Math.log2(Math.max(2, items.length))));
    }),
  );
});

test('a stop leaves the items of all batches that were to follow, in order', async () => {
  const left = await runBatch([1, 2, 3, 4, 5, 6, 7, 8], async (batch) => (batch.length > 2 ? 'halve' : 'stop'));
  expect(left).toEqual([3, 4, 5, 6, 7, 8]);
});

test('a batch without items is not run', async () => {
  expect(await runBatch([], () => Promise.reject(new Error('it ran')))).toEqual([]);
});
