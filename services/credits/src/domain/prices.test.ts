import { checkProperty } from '@agent-service/testkit/properties';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chargeOf } from './holds.ts';

const fast = { base: 1, per1kInput: 0, per1kOutput: 1, ceiling: 4 };
const smart = { base: 2, per1kInput: 1, per1kOutput: 2, ceiling: 10 };
const premium = { base: 10, per1kInput: 4, per1kOutput: 8, ceiling: 50 };

test('a charge is the base and the tokens by the thousand, rounded up', () => {
  expect(chargeOf(fast, { input: 9_000, output: 0 })).toBe(1);
  expect(chargeOf(fast, { input: 0, output: 1 })).toBe(2);
  expect(chargeOf(fast, { input: 0, output: 1_000 })).toBe(2);
  expect(chargeOf(fast, { input: 0, output: 1_001 })).toBe(3);
  expect(chargeOf(smart, { input: 1_500, output: 250 })).toBe(4);
  expect(chargeOf(premium, { input: 1_000, output: 1_000 })).toBe(22);
});

test('a charge never exceeds the ceiling of its tier', () => {
  expect(chargeOf(fast, { input: 1e9, output: 1e9 })).toBe(4);
  expect(chargeOf(premium, { input: 1e9, output: 1e9 })).toBe(50);
});

test('decimal prices cost no credit through rounding errors', () => {
  const price = { base: 0, per1kInput: 0.07, per1kOutput: 0, ceiling: 100 };
  expect((100_000 * 0.07) / 1000).toBeGreaterThan(7);
  expect(chargeOf(price, { input: 100_000, output: 0 })).toBe(7);
});

test('a charge is a whole number between 0 and the ceiling for any price and answer', () => {
  const tokens = fc.record({ input: fc.nat(2_000_000), output: fc.nat(200_000) });
  const rate = fc.double({ min: 0, max: 20, noNaN: true });
  const price = fc.record({ base: rate, per1kInput: rate, per1kOutput: rate, ceiling: fc.integer({ min: 1, max: 100 }) });
  checkProperty(
    fc.property(price, tokens, (tier, used) => {
      const charge = chargeOf(tier, used);
      expect(Number.isInteger(charge) && charge >= 0 && charge <= tier.ceiling).toBe(true);
    }),
  );
});
