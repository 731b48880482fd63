import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sealingVersion } from './cipher-sealing.ts';

test('a new key waits until all replicas can have it, and no longer than until one of them uses it', () => {
  const around = { configured: [1, 2, 3], isSettled: false };
  expect(sealingVersion({ ...around, stored: [1] })).toBe(1);
  expect(sealingVersion({ ...around, stored: [1, 2] })).toBe(2);
  expect(sealingVersion({ ...around, stored: [1, 3] })).toBe(3);
  expect(sealingVersion({ ...around, stored: [1], isSettled: true })).toBe(3);
});

test('where nothing is stored, or nothing that opens here, the newest seals at once', () => {
  expect(sealingVersion({ configured: [1, 2], stored: [], isSettled: false })).toBe(2);
  expect(sealingVersion({ configured: [1, 2], stored: [7], isSettled: false })).toBe(2);
});

test('what seals is always configured', () => {
  const versions = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 5 });
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1 }), versions, fc.boolean(), (configured, stored, isSettled) => {
      expect(configured).toContain(sealingVersion({ configured, stored, isSettled }));
    }),
  );
});
