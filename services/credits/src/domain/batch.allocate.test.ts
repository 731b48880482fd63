import { beforeEach, expect, test } from '@jest/globals';
import { dayMs } from './calendar.ts';
import { february, january, op, overLimit, refusal, spend } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

let ledger: LedgerInMemory;

beforeEach(() => {
  ledger = new LedgerInMemory(january);
  ledger.one(january, op.grant('purchase', 1_000));
});

test('an allocation moves credits from the pool to the user', () => {
  expect(ledger.one(january, op.limit('l', 'u', 300, true))).toEqual({
    ok: true,
    kind: 'allocate',
    allocation: { userId: 'u', monthlyLimit: 300, rolloverEnabled: true, effectiveFrom: january, updatedAt: january },
    changes: { monthlyLimit: 300, rolloverEnabled: true },
  });
  expect(ledger.user('u').balance).toBe(300);
  expect(ledger.ledger).toMatchObject({ pool: 700, allocated: 300 });
});

test('an allocation takes effect when it is made', () => {
  ledger.one(january, op.limit('l', 'u', 300));
  ledger.one(january + dayMs, op.limit('l2', 'u', 200));
  expect(ledger.user('u').effectiveFrom).toBe(january + dayMs);
});

test('an allocation that moves no credits is written with the ledger', () => {
  ledger.one(january, op.limit('l', 'u', 300));
  const outcome = ledger.run(january + dayMs, [op.limit('l2', 'u', 300, true)]);
  expect(outcome).toMatchObject({ ledger: { updatedAt: january + dayMs }, users: [{ rollover: true }], transfers: [] });
});

test('an allocation names the limits that differ, all of them for the first of a user', () => {
  expect(ledger.one(january, op.limit('l', 'u', 0))).toMatchObject({ changes: { monthlyLimit: 0, rolloverEnabled: false } });
  expect(ledger.one(january, op.limit('l2', 'u', 300))).toMatchObject({ changes: { monthlyLimit: 300 } });
  const changed = ledger.one(january, op.limit('l3', 'u', 300, true));
  expect(changed).toMatchObject({ changes: { rolloverEnabled: true } });
  expect(changed).not.toMatchObject({ changes: { monthlyLimit: 300 } });
});

test('the same allocation again changes nothing, also not when it took effect', () => {
  ledger.one(january, op.limit('l', 'u', 300, true));
  const outcome = ledger.run(january + dayMs, [op.limit('l2', 'u', 300, true)]);
  const allocation = { userId: 'u', monthlyLimit: 300, rolloverEnabled: true, effectiveFrom: january, updatedAt: january };
  expect(outcome).toMatchObject({ ledger: null, users: [], transfers: [] });
  expect(outcome.results).toEqual([{ ok: true, kind: 'allocate', allocation, changes: {} }]);
});

test('the same allocation again fills an account for which the pool had too few credits', () => {
  ledger.run(january, [op.limit('l', 'u', 600), op.limit('l2', 'other', 400)]);
  spend(ledger, january, 'm1', 'u', 600);
  ledger.one(february, op.startMonth('u'));
  ledger.one(february, op.grant('more', 250));
  const at = february + dayMs;
  expect(ledger.one(at, op.limit('l3', 'u', 600))).toMatchObject({ allocation: { effectiveFrom: january, updatedAt: at }, changes: {} });
  expect(ledger.user('u')).toMatchObject({ balance: 250, updatedAt: at });
});

test('an allocation beyond what is unallocated is refused with both figures and changes nothing', () => {
  ledger.one(january, op.limit('l', 'u', 300));
  expect(ledger.one(january, op.limit('l2', 'other', 701))).toEqual(refusal('insufficient_unallocated_credits', 701, 700));
  expect(ledger.one(january, op.limit('l3', 'u', 1_001))).toEqual(refusal('insufficient_unallocated_credits', 701, 700));
  expect(ledger.user('u')).toMatchObject({ monthlyLimit: 300, balance: 300 });
  expect(ledger.users.has('other')).toBe(false);
});

test('a raise needs only what it adds', () => {
  ledger.run(january, [op.limit('l', 'u', 900), op.limit('l2', 'u', 1_000)]);
  expect(ledger.user('u')).toMatchObject({ monthlyLimit: 1_000, balance: 1_000 });
});

test('a lower limit binds at once and returns credits', () => {
  ledger.one(january, op.limit('l', 'u', 300));
  spend(ledger, january, 'm1', 'u', 20);
  ledger.one(january, op.limit('l2', 'u', 50));
  expect(ledger.user('u')).toMatchObject({ monthlyLimit: 50, balance: 30, used: 20 });
  expect(ledger.one(january, op.hold('m2', 'u', 31))).toEqual(overLimit(31, 30, 50, 20));
});

test('a limit below the credits used is accepted and leaves none available', () => {
  ledger.one(january, op.limit('l', 'u', 300));
  spend(ledger, january, 'm1', 'u', 200);
  expect(ledger.one(january, op.limit('l2', 'u', 50))).toMatchObject({ ok: true });
  expect(ledger.user('u').balance).toBe(0);
});

test('carried credits stay on top of a raised limit', () => {
  ledger.run(january, [op.grant('more', 1_000), op.limit('l', 'u', 500, true)]);
  spend(ledger, january, 'm1', 'u', 300);
  ledger.one(february, op.limit('l2', 'u', 600, true));
  expect(ledger.user('u')).toMatchObject({ monthlyLimit: 600, balance: 800, carried: 200 });
});

test('a limit of 0 takes effect at once, also on carried credits', () => {
  ledger.one(january, op.limit('l', 'u', 100, true));
  ledger.one(february, op.limit('l2', 'u', 0, true));
  expect(ledger.user('u')).toMatchObject({ balance: 0, carried: 0 });
  expect(ledger.one(february, op.hold('m1', 'u', 1))).toEqual(overLimit(1, 0, 0, 0));
});

test('an allocation in a new month first starts the month in the account', () => {
  ledger.one(january, op.limit('l', 'u', 100));
  spend(ledger, january, 'm1', 'u', 60);
  ledger.one(february, op.limit('l2', 'u', 80));
  expect(ledger.user('u')).toMatchObject({ monthlyLimit: 80, balance: 80, used: 0 });
});

test('keeping or lowering a limit is never refused, also where the pool could not fill the account', () => {
  ledger.one(january, op.limit('l', 'u', 600));
  spend(ledger, january, 'm1', 'u', 600);
  ledger.one(january, op.limit('l2', 'other', 400));
  ledger.one(february, op.startMonth('u'));
  expect(ledger.one(february, op.limit('l3', 'u', 600))).toMatchObject({ ok: true });
  expect(ledger.one(february, op.limit('l4', 'u', 500))).toMatchObject({ ok: true });
  expect(ledger.user('u')).toMatchObject({ monthlyLimit: 500, balance: 0 });
});

test('a repeated allocation has the first result, and with other contents it is a conflict', () => {
  const first = ledger.one(january, op.limit('l', 'u', 300));
  ledger.one(january, op.limit('l2', 'u', 100));
  expect(ledger.one(february, op.limit('l', 'u', 300))).toEqual(first);
  expect(ledger.user('u').monthlyLimit).toBe(100);
  expect(ledger.one(january, op.limit('l', 'u', 301))).toEqual(refusal('idempotency_conflict'));
  expect(ledger.one(january, op.limit('l', 'u', 300, true))).toEqual(refusal('idempotency_conflict'));
  expect(ledger.one(january, op.limit('l', 'other', 300))).toEqual(refusal('idempotency_conflict'));
  expect(ledger.one(january, op.grant('l', 300))).toEqual(refusal('idempotency_conflict'));
});
