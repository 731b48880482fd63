import { expect, test } from '@jest/globals';
import { february, january, op, spend } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

test('a read in a new month shows the account with the month started', () => {
  const ledger = new LedgerInMemory(january);
  ledger.run(january, [op.grant('purchase', 1_000), op.limit('l', 'u', 100)]);
  spend(ledger, january, 'm1', 'u', 30);
  expect(ledger.one(february, op.read('u'))).toEqual({
    ok: true,
    kind: 'read',
    user: { userId: 'u', balance: 100, monthlyLimit: 100, usedThisMonth: 0, rolloverEnabled: false, updatedAt: february },
  });
});

test('a read within the month writes nothing', () => {
  const ledger = new LedgerInMemory(january);
  ledger.run(january, [op.grant('purchase', 1_000), op.hold('m1', 'u', 4)]);
  const outcome = ledger.run(january + 1, [op.read('u')]);
  expect(outcome.results).toMatchObject([{ user: { balance: 496, monthlyLimit: 500, updatedAt: january } }]);
  expect(outcome).toMatchObject({ ledger: null, users: [], transfers: [] });
});

test('reading a user without an account creates none', () => {
  const ledger = new LedgerInMemory(january);
  ledger.one(january, op.grant('purchase', 1_000));
  expect(ledger.one(february, op.read('u'))).toMatchObject({
    user: { balance: 0, monthlyLimit: 500, usedThisMonth: 0, updatedAt: january },
  });
  expect(ledger.users.size).toBe(0);
});
