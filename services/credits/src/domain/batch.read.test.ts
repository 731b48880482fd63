import { expect, test } from '@jest/globals';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';
import { a, FEBRUARY, JANUARY, spend } from './testing/scenes.ts';

test('a read that meets the account in a new month shows it turned', () => {
  const ledger = new LedgerInMemory(JANUARY);
  ledger.run(JANUARY, [a.grant('purchase', 1_000), a.limit('l', 'u', 100)]);
  spend(ledger, JANUARY, 'm1', 'u', 30);
  expect(ledger.one(FEBRUARY, a.read('u'))).toEqual({
    ok: true,
    kind: 'read',
    user: { userId: 'u', balance: 100, monthlyLimit: 100, usedThisMonth: 0, rolloverEnabled: false, updatedAt: FEBRUARY },
  });
});

test('a read within the month writes nothing', () => {
  const ledger = new LedgerInMemory(JANUARY);
  ledger.run(JANUARY, [a.grant('purchase', 1_000), a.hold('m1', 'u', 4)]);
  const outcome = ledger.run(JANUARY + 1, [a.read('u')]);
  expect(outcome.results).toMatchObject([{ user: { balance: 496, monthlyLimit: 500, updatedAt: JANUARY } }]);
  expect(outcome).toMatchObject({ ledger: null, users: [], transfers: [] });
});

test('reading a user who never used a credit allocates nothing', () => {
  const ledger = new LedgerInMemory(JANUARY);
  ledger.one(JANUARY, a.grant('purchase', 1_000));
  expect(ledger.one(FEBRUARY, a.read('u'))).toMatchObject({
    user: { balance: 0, monthlyLimit: 500, usedThisMonth: 0, updatedAt: JANUARY },
  });
  expect(ledger.users.size).toBe(0);
});
