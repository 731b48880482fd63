import { expect, test } from '@jest/globals';
import type { Settings } from './accounts.ts';
import { january, op, refusal } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

test('only the named settings change', () => {
  const ledger = new LedgerInMemory(january);
  ledger.one(january, op.grant('p', 5_000));
  const result = ledger.one(january + 1, { kind: 'settings', id: 's', changes: { autoReplenish: true, defaultMonthlyLimit: 0 } });
  expect(result).toEqual({
    ok: true,
    kind: 'settings',
    organization: {
      balance: 5_000,
      allocated: 0,
      unallocated: 5_000,
      autoReplenish: true,
      replenishThreshold: 100,
      replenishAmount: 1_000,
      lowBalanceThreshold: null,
      defaultMonthlyLimit: 0,
      updatedAt: january + 1,
    },
    changes: { autoReplenish: true, defaultMonthlyLimit: 0 },
  });
});

test('a setting that has its value already is no change, and the time stays', () => {
  const ledger = new LedgerInMemory(january);
  const settings = { replenishThreshold: 5, lowBalanceThreshold: null };
  expect(ledger.one(january, { kind: 'settings', id: 's', changes: settings })).toMatchObject({ changes: { replenishThreshold: 5 } });
  const outcome = ledger.run(january + 1, [{ kind: 'settings', id: 's2', changes: settings }]);
  expect(outcome).toMatchObject({ ledger: null, results: [{ organization: { updatedAt: january } }] });
  expect(outcome.results[0]).toHaveProperty('changes', {});
});

test('a setting out of bounds is refused and changes nothing', () => {
  const ledger = new LedgerInMemory(january);
  const bad: Partial<Settings>[] = [
    { replenishAmount: 0 },
    { replenishThreshold: -1 },
    { lowBalanceThreshold: 1.5 },
    { defaultMonthlyLimit: 2_000_000_001 },
  ];
  for (const changes of bad) expect(ledger.one(january, { kind: 'settings', id: 's', changes })).toEqual(refusal('invalid_request'));
  expect(ledger.remembered.size).toBe(0);
});

test('a repeated change is not applied again, and with other contents it is a conflict', () => {
  const ledger = new LedgerInMemory(january);
  const first = ledger.one(january, { kind: 'settings', id: 's', changes: { replenishThreshold: 5, replenishAmount: 7 } });
  ledger.one(january, { kind: 'settings', id: 's2', changes: { replenishThreshold: 6 } });
  expect(ledger.one(january, { kind: 'settings', id: 's', changes: { replenishAmount: 7, replenishThreshold: 5 } })).toEqual(first);
  expect(ledger.ledger.settings.replenishThreshold).toBe(6);
  expect(ledger.one(january, { kind: 'settings', id: 's', changes: { replenishThreshold: 5 } })).toEqual(refusal('idempotency_conflict'));
});

test('null brings the low balance threshold back to 10 % of the last purchase', () => {
  const ledger = new LedgerInMemory(january);
  ledger.one(january, { kind: 'settings', id: 's', changes: { lowBalanceThreshold: 5 } });
  expect(ledger.one(january, { kind: 'settings', id: 's2', changes: { lowBalanceThreshold: null } })).toMatchObject({ ok: true });
  expect(ledger.ledger.settings.lowBalanceThreshold).toBeNull();
});

test('a field that is undefined changes nothing', () => {
  const ledger = new LedgerInMemory(january);
  const changes = { replenishThreshold: undefined } as unknown as Partial<Settings>;
  expect(ledger.one(january, { kind: 'settings', id: 's', changes })).toMatchObject({
    ok: true,
    organization: { replenishThreshold: 100 },
  });
});
