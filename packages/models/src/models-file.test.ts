import { expect, test } from '@jest/globals';
import { costEstimate, defaultPrices } from './models-file.ts';

test('the estimate is the range of the tier in words', () => {
  expect(Object.values(defaultPrices).map(costEstimate)).toEqual([
    '1-4 credits per query',
    '2-10 credits per query',
    '5-25 credits per query',
    '10-50 credits per query',
  ]);
  expect(costEstimate({ base: 3, per1kInput: 0, per1kOutput: 0, ceiling: 3 })).toBe('3 credits per query');
  expect(costEstimate({ base: 1, per1kInput: 0, per1kOutput: 0, ceiling: 1 })).toBe('1 credit per query');
  expect(costEstimate({ base: 0.2, per1kInput: 0, per1kOutput: 0, ceiling: 0 })).toBe('0 credits per query');
});
