import { expect, test } from '@jest/globals';
import { dayMs } from './calendar.ts';
import { february, january, op, overLimit, refusal, spend } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

function ledgerWith(credits: number): LedgerInMemory {
  const ledger = new LedgerInMemory(january);
  ledger.one(january, op.grant('purchase', credits));
  return ledger;
}

test('a hold takes its ceiling off the user balance and leaves the organization balance as it was', () => {
  const ledger = ledgerWith(1_000);
  expect(ledger.one(january, op.hold('m1', 'u', 4))).toEqual({ ok: true, kind: 'hold', amount: 4 });
  expect(ledger.user('u')).toMatchObject({ balance: 496, onHold: 4, used: 0 });
  expect(ledger.ledger).toMatchObject({ pool: 500, allocated: 500, spent: 0 });
});

test('the first hold of a user fills the default allocation of 500', () => {
  const ledger = ledgerWith(2_000);
  ledger.one(january, op.hold('m1', 'u', 4));
  expect(ledger.user('u')).toMatchObject({ monthlyLimit: 500, balance: 496, rollover: false });
});

test('the first hold fills less than the default if the pool has less, and the limit stays the default', () => {
  const ledger = ledgerWith(30);
  ledger.one(january, op.hold('m1', 'u', 4));
  expect(ledger.user('u')).toMatchObject({ monthlyLimit: 500, balance: 26, onHold: 4 });
  expect(ledger.ledger.pool).toBe(0);
});

test('a first hold of 0 credits fills the default allocation too', () => {
  const ledger = ledgerWith(2_000);
  ledger.one(january, op.hold('m1', 'u', 0));
  expect(ledger.user('u')).toMatchObject({ monthlyLimit: 500, balance: 500, onHold: 0 });
});

test('the default allocation follows the organization settings', () => {
  const ledger = ledgerWith(2_000);
  ledger.one(january, { kind: 'settings', id: 's', changes: { defaultMonthlyLimit: 40 } });
  ledger.one(january, op.hold('m1', 'u', 4));
  expect(ledger.user('u')).toMatchObject({ monthlyLimit: 40, balance: 36 });
});

test('a refused first hold creates no account', () => {
  const ledger = ledgerWith(3);
  expect(ledger.one(january, op.hold('m1', 'u', 4))).toEqual(refusal('credits_exhausted', 4, 3));
  expect(ledger.users.size).toBe(0);
  expect(ledger.ledger).toMatchObject({ pool: 3, allocated: 0 });
});

test('user_limit_reached has the credits that the user may still hold, the limit and what is used of it', () => {
  const ledger = ledgerWith(1_000);
  ledger.one(january, op.limit('l', 'u', 10));
  spend(ledger, january, 'm1', 'u', 3);
  ledger.one(january, op.hold('m2', 'u', 4));
  expect(ledger.one(january, op.hold('m3', 'u', 4))).toEqual(overLimit(4, 3, 10, 3));
});

test('user_limit_reached has the credits that were carried over, so that its figures add up', () => {
  const ledger = ledgerWith(1_000);
  ledger.one(january, op.limit('l', 'u', 500, true));
  spend(ledger, january, 'm1', 'u', 200);
  spend(ledger, february, 'm2', 'u', 790);
  const { shortage } = overLimit(25, 10, 500, 790);
  expect(ledger.one(february, op.hold('m3', 'u', 25))).toEqual({
    ok: false,
    code: 'user_limit_reached',
    shortage: { ...shortage, carriedOver: 300 },
  });
});

test('credits_exhausted is the refusal if the limit allows the hold but the credits are missing', () => {
  const ledger = ledgerWith(100);
  ledger.one(january, op.hold('m1', 'first', 90));
  expect(ledger.one(january, op.hold('m2', 'second', 25))).toEqual(refusal('credits_exhausted', 25, 0));
});

test('a user above a lowered limit has 0 credits available, not less', () => {
  const ledger = ledgerWith(100);
  ledger.one(january, op.hold('m1', 'u', 50));
  ledger.one(january, op.limit('l', 'u', 10));
  expect(ledger.one(january, op.hold('m2', 'u', 1))).toEqual(overLimit(1, 0, 10, 0));
});

test('a hold of 0 credits is granted to a user above a lowered limit', () => {
  const ledger = ledgerWith(100);
  ledger.one(january, op.hold('m1', 'u', 50));
  ledger.one(january, op.limit('l', 'u', 10));
  expect(ledger.one(january, op.hold('m2', 'u', 0))).toEqual({ ok: true, kind: 'hold', amount: 0 });
  expect(ledger.user('u')).toMatchObject({ balance: 0, onHold: 50 });
});

test('an account that the pool could not fill at the start of the month is filled by a later hold', () => {
  const ledger = ledgerWith(100);
  ledger.run(january, [op.limit('l', 'u', 60), op.limit('l2', 'other', 40)]);
  spend(ledger, january, 'm1', 'u', 50);
  ledger.one(february, op.startMonth('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 10, used: 0 });
  ledger.one(february, op.grant('more', 500));
  expect(ledger.one(february, op.hold('m2', 'u', 25))).toMatchObject({ ok: true });
  expect(ledger.user('u')).toMatchObject({ balance: 35, onHold: 25 });
});

test('a hold of the whole balance takes nothing more from the pool', () => {
  const ledger = ledgerWith(100);
  ledger.run(january, [op.limit('l', 'u', 60), op.limit('l2', 'other', 40)]);
  spend(ledger, january, 'm1', 'u', 50);
  ledger.one(february, op.startMonth('u'));
  ledger.one(february, op.grant('more', 500));
  ledger.one(february, op.hold('m2', 'u', 10));
  expect(ledger.user('u')).toMatchObject({ balance: 0, onHold: 10 });
  expect(ledger.ledger.pool).toBe(500);
});

test('a repeated hold has the first result, also after it ended', () => {
  const ledger = ledgerWith(1_000);
  const first = ledger.one(january, op.hold('m1', 'u', 4));
  expect(ledger.one(january, op.hold('m1', 'u', 4))).toEqual(first);
  ledger.one(january, op.settle('m1', 2));
  expect(ledger.one(january, op.hold('m1', 'u', 4))).toEqual(first);
  expect(ledger.user('u')).toMatchObject({ balance: 498, onHold: 0, used: 2 });
});

test('a refused hold stays refused under its id, also after credits were added', () => {
  const ledger = ledgerWith(1);
  const first = ledger.one(january, op.hold('m1', 'u', 4));
  ledger.one(january, op.grant('more', 100));
  expect(ledger.one(january, op.hold('m1', 'u', 4))).toEqual(first);
  expect(ledger.one(january, op.hold('m2', 'u', 4))).toMatchObject({ ok: true });
});

test('a repeated hold with another user, amount or deadline is a conflict', () => {
  const ledger = ledgerWith(1_000);
  ledger.one(january, op.hold('m1', 'u', 4));
  expect(ledger.one(january, op.hold('m1', 'other', 4))).toEqual(refusal('idempotency_conflict'));
  expect(ledger.one(january, op.hold('m1', 'u', 5))).toEqual(refusal('idempotency_conflict'));
  expect(ledger.one(january, { kind: 'hold', id: 'm1', userId: 'u', amount: 4, deadline: 1 })).toEqual(refusal('idempotency_conflict'));
});

test('1,000 holds on a balance that covers 100 are granted exactly 100 times, in one batch or in many', () => {
  for (const size of [1, 7, 1_000]) {
    const ledger = ledgerWith(400);
    const holds = Array.from({ length: 1_000 }, (_, i) => op.hold(`m${i}`, `u${i % 10}`, 4));
    const results = [];
    for (let from = 0; from < holds.length; from += size) results.push(...ledger.run(january, holds.slice(from, from + size)).results);
    expect(results.filter((result) => result.ok)).toHaveLength(100);
    expect([...ledger.users.values()].reduce((sum, user) => sum + user.onHold, 0)).toBe(400);
  }
});

test('a hold past its deadline is never ended by time', () => {
  const ledger = ledgerWith(100);
  ledger.one(january, op.hold('m1', 'u', 4));
  ledger.one(january + 300 * dayMs, op.read('u'));
  expect(ledger.user('u').onHold).toBe(4);
  expect(ledger.one(january + 300 * dayMs, op.settle('m1', 4))).toEqual({ ok: true, kind: 'settle', charge: 4 });
});
