import { beforeEach, expect, test } from '@jest/globals';
import { february, january, march, op, spend } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

let ledger: LedgerInMemory;

beforeEach(() => {
  ledger = new LedgerInMemory(january);
  ledger.one(january, op.grant('purchase', 1_000));
});

test('without rollover a new month starts at the limit and the unused went back to the pool', () => {
  ledger.one(january, op.limit('l', 'u', 100));
  spend(ledger, january, 'm1', 'u', 30);
  expect(ledger.one(february, op.startMonth('u'))).toEqual({ ok: true, kind: 'start_month', started: true });
  expect(ledger.user('u')).toMatchObject({ balance: 100, used: 0, carried: 0 });
  expect(ledger.transfers.get('turn:u:2026-02:return')).toMatchObject({ from: 'user', to: 'pool', amount: 70 });
  expect(ledger.transfers.get('turn:u:2026-02:fill')).toMatchObject({ from: 'pool', to: 'user', amount: 100 });
});

test('with rollover the unused is carried on top of the limit', () => {
  ledger.one(january, op.limit('l', 'u', 100, true));
  spend(ledger, january, 'm1', 'u', 30);
  ledger.one(february, op.startMonth('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 170, carried: 70 });
});

test('never more than one monthly limit is carried', () => {
  ledger.one(january, op.limit('l', 'u', 100, true));
  ledger.one(february, op.startMonth('u'));
  ledger.one(march, op.startMonth('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 200, carried: 100 });
});

test('months without an operation count as unused', () => {
  ledger.one(january, op.limit('l', 'u', 100, true));
  spend(ledger, january, 'm1', 'u', 70);
  ledger.one(march, op.startMonth('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 200, carried: 100, used: 0 });
});

test('months that the pool could not fill carry nothing over', () => {
  ledger.one(january, op.limit('l', 'u', 1_000, true));
  spend(ledger, january, 'm1', 'u', 1_000);
  ledger.one(march, op.startMonth('u'));
  expect(ledger.ledger.pool).toBe(0);
  expect(ledger.user('u')).toMatchObject({ balance: 0, carried: 0, used: 0 });
});

test('a month starts once, with any operation as its first', () => {
  ledger.one(january, op.limit('l', 'u', 100));
  const results = ledger.run(february, [op.hold('m1', 'u', 1), op.startMonth('u'), op.read('u'), op.startMonth('u')]).results;
  expect(results.map((result) => 'started' in result && result.started)).toEqual([false, false, false, false]);
  expect(ledger.user('u')).toMatchObject({ balance: 99, onHold: 1 });
});

test('the month is UTC: its last instant is the old one, its first the new', () => {
  ledger.one(january, op.limit('l', 'u', 100));
  expect(ledger.one(february - 1, op.startMonth('u'))).toMatchObject({ started: false });
  expect(ledger.one(february, op.startMonth('u'))).toMatchObject({ started: true });
});

test('a clock that is behind does not return to the month before', () => {
  ledger.one(january, op.limit('l', 'u', 100));
  ledger.one(february, op.startMonth('u'));
  expect(ledger.one(february - 1, op.startMonth('u'))).toMatchObject({ started: false });
  spend(ledger, february - 1, 'm1', 'u', 5);
  expect(ledger.user('u')).toMatchObject({ used: 5 });
  expect(ledger.usage.get('m1')?.at).toBe(february);
});

test('an open hold counts against the limit of the new month', () => {
  ledger.run(january, [op.limit('l', 'u', 100), op.hold('m1', 'u', 10)]);
  ledger.one(february, op.startMonth('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 90, onHold: 10, used: 0 });
});

test('with rollover credits that are on hold are carried over, because what they are charged counts in the new month', () => {
  ledger.run(january, [
    op.limit('l', 'u', 100, true),
    op.hold('m1', 'u', 50),
    op.limit('l2', 'other', 100, true),
    op.hold('m2', 'other', 50),
  ]);
  ledger.run(february, [op.startMonth('u'), op.startMonth('other')]);
  expect(ledger.user('u')).toMatchObject({ balance: 150, onHold: 50, carried: 100 });
  ledger.run(february, [op.release('m1'), op.settle('m2', 3)]);
  expect(ledger.user('u')).toMatchObject({ balance: 200, onHold: 0, carried: 100, used: 0 });
  expect(ledger.user('other')).toMatchObject({ balance: 197, onHold: 0, carried: 100, used: 3 });
});

test('with rollover a hold is carried over as well when months went by without an operation', () => {
  ledger.run(january, [op.limit('l', 'u', 100, true), op.hold('m1', 'u', 100)]);
  ledger.one(march, op.release('m1'));
  expect(ledger.user('u')).toMatchObject({ balance: 200, onHold: 0, carried: 100 });
});

test('a hold beyond what a lowered limit leaves is not carried over', () => {
  const users = ['u', 'other'];
  for (const userId of users) {
    ledger.run(january, [op.limit(`l ${userId}`, userId, 100, true), op.hold(`h ${userId}`, userId, 40)]);
    spend(ledger, january, `m ${userId}`, userId, 60);
    ledger.one(january, op.limit(`l2 ${userId}`, userId, 50, true));
  }
  ledger.run(february, users.map(op.startMonth));
  for (const userId of users) expect(ledger.user(userId)).toMatchObject({ balance: 10, onHold: 40, carried: 0, used: 0 });
  ledger.run(february, [op.release('h u'), op.settle('h other', 40)]);
  expect(ledger.user('u')).toMatchObject({ balance: 50, onHold: 0, used: 0 });
  expect(ledger.user('other')).toMatchObject({ balance: 10, onHold: 0, used: 40 });
});

test('of a hold above a lowered limit as much is carried over as the month left', () => {
  ledger.run(january, [op.limit('l', 'u', 100, true), op.hold('m1', 'u', 60)]);
  spend(ledger, january, 'm2', 'u', 30);
  ledger.run(january, [op.limit('l2', 'u', 50, true)]);
  ledger.one(february, op.startMonth('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 10, onHold: 60, carried: 20 });
  ledger.one(march, op.release('m1'));
  expect(ledger.user('u')).toMatchObject({ balance: 100, onHold: 0, carried: 50 });
});

test('the carry-over of the month before counts to what a month leaves', () => {
  ledger.one(january, op.limit('l', 'u', 100, true));
  ledger.one(february, op.hold('m1', 'u', 30));
  spend(ledger, february, 'm2', 'u', 150);
  ledger.one(february, op.limit('l2', 'u', 80, true));
  ledger.one(march, op.release('m1'));
  expect(ledger.user('u')).toMatchObject({ balance: 90, carried: 10 });
});

test('a pool with fewer credits than the limit fills them all', () => {
  ledger.run(january, [op.limit('l', 'u', 600), op.limit('l2', 'other', 300)]);
  spend(ledger, january, 'm1', 'u', 500);
  ledger.one(february, op.startMonth('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 200, used: 0 });
  expect(ledger.ledger).toMatchObject({ pool: 0, allocated: 500, spent: 500 });
});

test('a month cannot start for a user without an account', () => {
  const outcome = ledger.run(february, [op.startMonth('unknown')]);
  expect(outcome).toMatchObject({ results: [{ ok: true, started: false }], ledger: null, users: [] });
});
