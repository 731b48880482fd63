import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pauseAfter } from './pauses.ts';

test('pauses grow, are never longer than a second nor shorter than a fortieth of one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const pause = pauseAfter(failures, random);
      expect(pause).toBeGreaterThanOrEqual(25);
      expect(pause).toBeLessThanOrEqual(1_000);
      expect(pauseAfter(failures + 1, random)).toBeGreaterThanOrEqual(pause);
    }),
  );
});
