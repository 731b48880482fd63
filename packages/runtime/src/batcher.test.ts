import { expect, test } from '@jest/globals';
import { createBatcher } from './batcher.ts';

const gate = () => Promise.withResolvers<void>();

test('the first call leaves at once and what comes meanwhile leaves together', async () => {
  const batches: number[][] = [];
  const first = gate();
  const batcher = createBatcher<number, number>({
    maxItems: 10,
    run: async (items) => {
      batches.push(items);
      if (batches.length === 1) await first.promise;
      return items.map((item) => item * 2);
    },
  });
  const one = batcher.add(1);
  await Promise.resolve();
  const rest = [batcher.add(2), batcher.add(3), batcher.add(4)];
  first.resolve();
  expect(await Promise.all([one, ...rest])).toEqual([2, 4, 6, 8]);
  expect(batches).toEqual([[1], [2, 3, 4]]);
});

test('a batch never exceeds its size', async () => {
  const sizes: number[] = [];
  const batcher = createBatcher<number, number>({
    maxItems: 3,
    run: async (items) => {
      sizes.push(items.length);
      return items;
    },
  });
  await Promise.all(Array.from({ length: 8 }, (_, index) => batcher.add(index)));
  expect(sizes).toEqual([3, 3, 2]);
});

test('one failed item fails alone, a failed batch fails whole, and the next batch still runs', async () => {
  const batcher = createBatcher<string, string>({
    maxItems: 2,
    run: async (items) => {
      if (items.includes('break')) throw new Error('down');
      return items.map((item) => (item === 'bad' ? new Error('bad item') : item));
    },
  });
  const outcomes = await Promise.allSettled(['a', 'bad', 'break', 'b', 'c'].map((item) => batcher.add(item)));
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message))).toEqual([
    'a',
    'bad item',
    'down',
    'down',
    'c',
  ]);
});

test('a run that loses results is an error, not a hang', async () => {
  const batcher = createBatcher<number, number>({ maxItems: 5, run: async () => [] });
  await expect(batcher.add(1)).rejects.toThrow('a batch of 1 came back with 0 results');
});
