import { beforeEach, expect, test } from '@jest/globals';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';
import { a, FEBRUARY, JANUARY, refusal } from './testing/scenes.ts';

let ledger: LedgerInMemory;

beforeEach(() => {
  ledger = new LedgerInMemory(JANUARY);
  ledger.run(JANUARY, [a.grant('purchase', 1_000), a.limit('l', 'u', 100), a.hold('m1', 'u', 10)]);
});

test('a release frees the whole hold and charges nothing', () => {
  expect(ledger.one(JANUARY, a.release('m1'))).toEqual({ ok: true, kind: 'release', released: 10 });
  expect(ledger.user('u')).toMatchObject({ balance: 100, held: 0, used: 0 });
  expect(ledger.ledger.spent).toBe(0);
  expect(ledger.usage.size).toBe(0);
});

test('a release in the next month frees the credits within that month limit', () => {
  ledger.one(FEBRUARY, a.release('m1'));
  expect(ledger.user('u')).toMatchObject({ balance: 100, held: 0, used: 0 });
  expect(ledger.ledger).toMatchObject({ pool: 900, allocated: 100 });
});

test('a release returns to the pool what a lowered limit no longer allows', () => {
  ledger.run(JANUARY, [a.limit('l2', 'u', 4), a.release('m1')]);
  expect(ledger.user('u')).toMatchObject({ balance: 4, held: 0 });
  expect(ledger.ledger.pool).toBe(996);
});

test('a repeated release has the first result and frees nothing more', () => {
  const first = ledger.one(JANUARY, a.release('m1'));
  expect(ledger.one(JANUARY, a.release('m1'))).toEqual(first);
  expect(ledger.user('u').balance).toBe(100);
});

test('the release of an unknown hold is remembered and refuses the hold that comes after it', () => {
  expect(ledger.one(JANUARY, a.release('m2'))).toEqual({ ok: true, kind: 'release', released: 0 });
  expect(ledger.one(JANUARY, a.hold('m2', 'u', 4))).toEqual(refusal('hold_released'));
  expect(ledger.one(JANUARY, a.release('m2'))).toEqual({ ok: true, kind: 'release', released: 0 });
  expect(ledger.user('u').held).toBe(10);
});

test('the release of a refused hold does nothing', () => {
  ledger.one(JANUARY, a.hold('m2', 'u', 400));
  expect(ledger.one(JANUARY, a.release('m2'))).toEqual({ ok: true, kind: 'release', released: 0 });
});

test('a settled hold can not be released', () => {
  ledger.one(JANUARY, a.settle('m1', 3));
  expect(ledger.one(JANUARY, a.release('m1'))).toEqual(refusal('hold_settled'));
});
