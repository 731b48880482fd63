import { expect, test } from '@jest/globals';
import { FEBRUARY, JANUARY, op, spend } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

test('a read in a new month shows the account with the month started', () => {
  const ledger = new LedgerInMemory(JANUARY);
  ledger.run(JANUARY, [op.grant('purchase', 1_000), op.limit('l', 'u', 100)]);
  spend(ledger, JANUARY, 'm1', 'u', 30);
  expect(ledger.one(FEBRUARY, op.read('u'))).toEqual({
    ok: true,
    kind: 'read',
    user: { userId: 'u', balance: 100, monthlyLimit: 100, usedThisMonth: 0, rolloverEnabled: false, updatedAt: FEBRUARY },
  });
});

test('a read within the month writes nothing', () => {
  const ledger = new LedgerInMemory(JANUARY);
  ledger.run(JANUARY, [op.grant('purchase', 1_000), op.hold('m1', 'u', 4)]);
  const outcome = ledger.run(JANUARY + 1, [op.read('u')]);
  expect(outcome.results).toMatchObject([{ user: { balance: 496, monthlyLimit: 500, updatedAt: JANUARY } }]);
  expect(outcome).toMatchObject({ ledger: null, users: [], transfers: [] });
});

test('reading a user without an account creates none', () => {
  const ledger = new LedgerInMemory(JANUARY);
  ledger.one(JANUARY, op.grant('purchase', 1_000));
  expect(ledger.one(FEBRUARY, op.read('u'))).toMatchObject({
    user: { balance: 0, monthlyLimit: 500, usedThisMonth: 0, updatedAt: JANUARY },
  });
  expect(ledger.users.size).toBe(0);
});
