import { beforeEach, expect, test } from '@jest/globals';
import { maxIssued, type Settings } from './accounts.ts';
import { january, op, refusal, spend } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

let ledger: LedgerInMemory;

beforeEach(() => {
  ledger = new LedgerInMemory(january);
  ledger.one(january, op.grant('p', 200));
});

function set(id: string, changes: Partial<Settings>): void {
  ledger.one(january, { kind: 'settings', id, changes });
}

test('a balance that falls below the threshold is replenished in the same operation', () => {
  set('s', { autoReplenish: true, replenishThreshold: 100, replenishAmount: 1_000 });
  spend(ledger, january, 'm1', 'u', 100);
  expect(ledger.ledger).toMatchObject({ issued: 200 });
  spend(ledger, january, 'm2', 'u', 1);
  expect(ledger.ledger).toMatchObject({ pool: 1_000, allocated: 99, issued: 1_200, lastPurchase: 200 });
  expect(ledger.transfers.get('settle:m2:replenish')).toMatchObject({ from: 'outside', to: 'pool', amount: 1_000 });
  expect([...ledger.events.values()].at(-1)).toMatchObject({
    type: 'credits.replenished',
    amount: 1_000,
    balance: 1_099,
    source: 'auto_replenish',
  });
});

test('replenishment is repeated until the balance reaches the threshold', () => {
  set('s', { autoReplenish: true, replenishThreshold: 450, replenishAmount: 100 });
  expect(ledger.ledger).toMatchObject({ pool: 500, issued: 500 });
});

test('at most 10 times a batch, and the next batch goes on', () => {
  set('s', { autoReplenish: true, replenishThreshold: 1_000, replenishAmount: 10 });
  expect(ledger.ledger.pool).toBe(300);
  const outcome = ledger.run(january, [op.hold('m1', 'u', 1), op.settle('m1', 1), op.hold('m2', 'u', 1)]);
  expect(outcome.ledger).toMatchObject({ issued: 400, spent: 1 });
});

test('a tenant left empty by that limit is replenished before its next hold is decided', () => {
  set('d', { defaultMonthlyLimit: 1_000_000 });
  set('s', { autoReplenish: true, replenishThreshold: 1_000, replenishAmount: 1 });
  spend(ledger, january, 'm1', 'u', 210);
  spend(ledger, january, 'm2', 'u', 10);
  expect(ledger.one(january, op.hold('m3', 'u', 20))).toMatchObject({ ok: true });
});

test('replenishment stops at the most credits that can be counted exactly', () => {
  const issued = maxIssued - 25;
  ledger.ledger = { ...ledger.ledger, issued, spent: issued - 200 };
  set('s', { autoReplenish: true, replenishThreshold: 1_000, replenishAmount: 10 });
  expect(ledger.ledger).toMatchObject({ pool: 220, issued: issued + 20 });
});

test('a warning depends on the balance after replenishment', () => {
  set('s', { autoReplenish: true, replenishThreshold: 20, replenishAmount: 1_000, lowBalanceThreshold: 20 });
  spend(ledger, january, 'm1', 'u', 200);
  expect([...ledger.events.values()].map((event) => event.type)).toEqual(['credits.replenished', 'credits.replenished']);
});

test('nothing is added if replenishment is off', () => {
  set('s', { autoReplenish: false, replenishThreshold: 10_000, replenishAmount: 1_000 });
  spend(ledger, january, 'm1', 'u', 200);
  expect(ledger.ledger).toMatchObject({ issued: 200 });
  expect(ledger.one(january, op.hold('m2', 'u', 1))).toEqual(refusal('credits_exhausted', 1, 0));
});
