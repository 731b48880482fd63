import { beforeEach, expect, test } from '@jest/globals';
import type { CreditEvent } from './state.ts';
import { january, op, spend } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

let ledger: LedgerInMemory;

beforeEach(() => {
  ledger = new LedgerInMemory(january);
  ledger.one(january, op.grant('p', 200));
});

function raised(type: CreditEvent['type']): CreditEvent[] {
  return [...ledger.events.values()].filter((event) => event.type === type);
}

test('credits.low_balance is sent below 10 % of the last purchase', () => {
  spend(ledger, january, 'm1', 'u', 180);
  expect(raised('credits.low_balance')).toEqual([]);
  spend(ledger, january, 'm2', 'u', 1);
  expect(raised('credits.low_balance')).toMatchObject([{ balance: 19, threshold: 20 }]);
});

test('credits.low_balance is sent once, and again only after the balance was above the threshold', () => {
  ledger.one(january, { kind: 'settings', id: 's', changes: { lowBalanceThreshold: 50 } });
  spend(ledger, january, 'm1', 'u', 160);
  spend(ledger, january, 'm2', 'u', 10);
  expect(raised('credits.low_balance')).toHaveLength(1);
  ledger.one(january, op.grant('p2', 30));
  spend(ledger, january, 'm3', 'u', 20);
  expect(raised('credits.low_balance')).toMatchObject([
    { balance: 40, threshold: 50 },
    { balance: 40, threshold: 50 },
  ]);
});

test('a threshold that is raised above the balance sends credits.low_balance at once', () => {
  ledger.one(january, { kind: 'settings', id: 's', changes: { lowBalanceThreshold: 201 } });
  expect(raised('credits.low_balance')).toMatchObject([{ balance: 200, threshold: 201 }]);
});

test('holds do not lower the balance and send no warning', () => {
  ledger.one(january, op.hold('m1', 'u', 200));
  expect(raised('credits.low_balance')).toEqual([]);
});

test('credits.depleted is sent when the balance reaches zero, and again only after it has risen', () => {
  spend(ledger, january, 'm1', 'u', 200);
  ledger.one(january, op.hold('m2', 'u', 1));
  expect(raised('credits.depleted')).toMatchObject([{ balance: 0 }]);
  ledger.one(january, op.grant('p2', 5));
  spend(ledger, january, 'm3', 'u', 5);
  expect(raised('credits.depleted')).toHaveLength(2);
});

test('credits.depleted is not sent to an organization that never had credits', () => {
  const empty = new LedgerInMemory(january);
  const { events } = empty.run(january, [{ kind: 'settings', id: 's', changes: { lowBalanceThreshold: 10 } }]);
  expect(events.map((event) => event.type)).toEqual(['credits.low_balance']);
});
