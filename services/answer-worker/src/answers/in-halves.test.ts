import { ServiceError } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { inHalves } from './in-halves.ts';

test('items that a call can not take spoil no others, and every outcome stands where its item stood', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), async (poisonous) => {
      const call = async (items: readonly { index: number; poison: boolean }[]) => {
        if (items.some(({ poison }) => poison)) throw new ServiceError('internal');
        return items.map(({ index }) => index);
      };
      const outcomes = await inHalves(
        poisonous.map((poison, index) => ({ index, poison })),
        call,
      );
      expect(outcomes.map((outcome) => (outcome instanceof ServiceError ? outcome.code : outcome))).toEqual(
        poisonous.map((poison, index) => (poison ? 'internal' : index)),
      );
    }),
  );
});

test('a service that is away is asked once for all', async () => {
  let calls = 0;
  const outcomes = await inHalves([1, 2, 3, 4], async () => {
    calls += 1;
    throw new ServiceError('unavailable');
  });
  expect([calls, outcomes.length]).toEqual([1, 4]);
});
