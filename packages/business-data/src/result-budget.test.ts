import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createResultBudget, type ResultUse } from './result-budget.ts';

/** Takes as many pieces as the budget allows. */
function fill(use: ResultUse, piece = 10): number {
  let bytes = 0;
  while (use.take(piece)) bytes += piece;
  return bytes;
}

test('one tenant gets half of the budget, and each further one finds room', () => {
  const budget = createResultBudget(1_000);
  const tenants = ['a', 'b', 'c', 'd'].map((tenant) => budget.of(tenant).open());
  expect(tenants.map((use) => fill(use))).toEqual([500, 250, 120, 60]);
});

test('several uses of a tenant share what the tenant may hold, and a released use makes room', () => {
  const budget = createResultBudget(1_000);
  const [first, second] = [budget.of('a').open(), budget.of('a').open()];
  expect([fill(first), fill(second)]).toEqual([500, 0]);
  first.release();
  expect(fill(second)).toBe(500);
});

test('the uses of any history together never exceed the budget, and releasing all of them leaves nothing', () => {
  const step = fc.record({ tenant: fc.nat(5), bytes: fc.integer({ min: 1, max: 400 }), isRelease: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const budget = createResultBudget(1_000);
      const uses = Array.from({ length: 6 }, (_, tenant) => ({ use: budget.of(String(tenant)).open(), bytes: 0 }));
      for (const { tenant, bytes, isRelease } of steps) {
        const entry = uses[tenant] as (typeof uses)[number];
        if (isRelease) {
          entry.use.release();
          entry.bytes = 0;
        } else if (entry.use.take(bytes)) entry.bytes += bytes;
        expect(uses.reduce((sum, entry) => sum + entry.bytes, 0)).toBeLessThanOrEqual(1_000);
      }
      for (const { use } of uses) use.release();
      expect(fill(budget.of('new').open(), 1)).toBe(500);
    }),
  );
});
