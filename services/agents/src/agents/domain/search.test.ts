import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Tenant } from '../../shared/tenant.ts';
import { fold, gramsNeeded, gramsOf } from './search.ts';

const tenant: Tenant = { organizationId: 'org_a', environment: 'live' };
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc
    .array(fc.constantFrom('a', 'b', 'ß', 'ẞ', 'ς', 'Σ', 'İ', '%', '_', '\\', ' ', '東', '京', '😀'), { maxLength: 60 })
    .map((letters) => letters.join('')),
);
const isIn = (needed: readonly number[], grams: readonly number[]) => needed.every((gram) => grams.includes(gram));

test('the index finds every text that the search is part of', () => {
  fc.assert(
    fc.property(text, text, fc.nat(80), fc.integer({ min: 1, max: 80 }), (name, description, from, length) => {
      const [one, other] = [fold(name), fold(description)];
      const search = [...other].slice(from, from + length).join('');
      fc.pre(search !== '');
      expect(isIn(gramsNeeded(tenant, search), gramsOf(tenant, one, other))).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('case makes no difference, in whatever position a letter stands', () => {
  fc.assert(
    fc.property(text, (input) => {
      expect(fold(input.toUpperCase())).toBe(fold(input));
      expect(fold(fold(input))).toBe(fold(input));
    }),
  );
  expect(fold('STRAẞE')).toBe(fold('Straße'));
  expect(fold('STRASSE')).toBe(fold('straße'));
  expect(fold('ΟΔΟΣ')).toBe(fold('οδος'));
  expect(fold('ΟΔΟΣ').startsWith(fold('Οδ'))).toBe(true);
  for (const greek of ['ῢ', 'ΐ', 'ΰ']) expect(fold(greek.toUpperCase())).toBe(fold(greek));
});

test('a search of one or two characters needs a gram like any other', () => {
  for (const search of ['京', '東京', 'x', '%_']) expect(gramsNeeded(tenant, search)).toHaveLength(1);
});

test('what a search needs has a limit, and it is never nothing', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 2_000 }), (search) => {
      const needed = gramsNeeded(tenant, search);
      expect(needed.length).toBeGreaterThanOrEqual(1);
      expect(needed.length).toBeLessThanOrEqual(12);
      expect(needed.every((gram) => Number.isInteger(gram) && Math.abs(gram) <= 2 ** 31)).toBe(true);
    }),
  );
});

test("another tenant's agents with the same words share no grams", () => {
  const words = fold('Quarterly revenue by region and product');
  const grams = new Set(gramsOf(tenant, words));
  for (const other of [
    { organizationId: 'org_b', environment: 'live' },
    { organizationId: 'org_a', environment: 'test' },
  ] as const) {
    expect(gramsOf(other, words).filter((gram) => grams.has(gram))).toEqual([]);
  }
});
