import { beforeEach, expect, test } from '@jest/globals';
import { dayMs } from './calendar.ts';
import { february, january, op, refusal } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

let ledger: LedgerInMemory;

beforeEach(() => {
  ledger = new LedgerInMemory(january);
  ledger.run(january, [op.grant('purchase', 1_000), op.limit('l', 'u', 100), op.hold('m1', 'u', 10)]);
});

test('a release frees the whole hold and charges nothing', () => {
  expect(ledger.one(january, op.release('m1'))).toEqual({ ok: true, kind: 'release', released: 10 });
  expect(ledger.user('u')).toMatchObject({ balance: 100, onHold: 0, used: 0 });
  expect(ledger.ledger.spent).toBe(0);
  expect(ledger.usage.size).toBe(0);
});

test('a released hold has ended', () => {
  ledger.one(january + dayMs, op.release('m1'));
  expect(ledger.holds.get('m1')).toMatchObject({ state: 'released', endedAt: january + dayMs });
});

test('a release in the next month frees the credits within that month limit', () => {
  ledger.one(february, op.release('m1'));
  expect(ledger.user('u')).toMatchObject({ balance: 100, onHold: 0, used: 0 });
  expect(ledger.ledger).toMatchObject({ pool: 900, allocated: 100 });
});

test('a release returns to the pool what a lowered limit no longer allows', () => {
  ledger.run(january, [op.limit('l2', 'u', 4), op.release('m1')]);
  expect(ledger.user('u')).toMatchObject({ balance: 4, onHold: 0 });
  expect(ledger.ledger.pool).toBe(996);
});

test('a repeated release has the first result and frees nothing more', () => {
  const first = ledger.one(january, op.release('m1'));
  expect(ledger.one(january, op.release('m1'))).toEqual(first);
  expect(ledger.user('u').balance).toBe(100);
});

test('the release of an unknown hold is stored, and the hold is then refused', () => {
  expect(ledger.one(january, op.release('m2'))).toEqual({ ok: true, kind: 'release', released: 0 });
  expect(ledger.one(january, op.hold('m2', 'u', 4))).toEqual(refusal('hold_released'));
  expect(ledger.one(january, op.release('m2'))).toEqual({ ok: true, kind: 'release', released: 0 });
  expect(ledger.user('u').onHold).toBe(10);
});

test('the release of a refused hold does nothing', () => {
  ledger.one(january, op.hold('m2', 'u', 400));
  expect(ledger.one(january, op.release('m2'))).toEqual({ ok: true, kind: 'release', released: 0 });
});

test('a settled hold cannot be released', () => {
  ledger.one(january, op.settle('m1', 3));
  expect(ledger.one(january, op.release('m1'))).toEqual(refusal('hold_settled'));
});
