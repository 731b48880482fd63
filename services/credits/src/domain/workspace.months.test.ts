import { beforeEach, expect, test } from '@jest/globals';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';
import { a, FEBRUARY, JANUARY, MARCH, spend } from './testing/scenes.ts';

let ledger: LedgerInMemory;

beforeEach(() => {
  ledger = new LedgerInMemory(JANUARY);
  ledger.one(JANUARY, a.grant('purchase', 1_000));
});

test('without rollover a new month starts at the limit and the unused went back to the pool', () => {
  ledger.one(JANUARY, a.limit('l', 'u', 100));
  spend(ledger, JANUARY, 'm1', 'u', 30);
  expect(ledger.one(FEBRUARY, a.turn('u'))).toEqual({ ok: true, kind: 'turn', turned: true });
  expect(ledger.user('u')).toMatchObject({ balance: 100, used: 0, carried: 0 });
  expect(ledger.transfers.get('turn:u:2026-02:return')).toMatchObject({ from: 'user', to: 'pool', amount: 70 });
  expect(ledger.transfers.get('turn:u:2026-02:fill')).toMatchObject({ from: 'pool', to: 'user', amount: 100 });
});

test('with rollover the unused is carried on top of the limit', () => {
  ledger.one(JANUARY, a.limit('l', 'u', 100, true));
  spend(ledger, JANUARY, 'm1', 'u', 30);
  ledger.one(FEBRUARY, a.turn('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 170, carried: 70 });
});

test('never more than one monthly limit is carried', () => {
  ledger.one(JANUARY, a.limit('l', 'u', 100, true));
  ledger.one(FEBRUARY, a.turn('u'));
  ledger.one(MARCH, a.turn('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 200, carried: 100 });
});

test('months that nobody met count as months unused', () => {
  ledger.one(JANUARY, a.limit('l', 'u', 100, true));
  spend(ledger, JANUARY, 'm1', 'u', 70);
  ledger.one(MARCH, a.turn('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 200, carried: 100, used: 0 });
});

test('the month turns once, whoever meets it first and however often', () => {
  ledger.one(JANUARY, a.limit('l', 'u', 100));
  const results = ledger.run(FEBRUARY, [a.hold('m1', 'u', 1), a.turn('u'), a.read('u'), a.turn('u')]).results;
  expect(results.map((result) => 'turned' in result && result.turned)).toEqual([false, false, false, false]);
  expect(ledger.user('u')).toMatchObject({ balance: 99, held: 1 });
});

test('the month is UTC: its last instant is the old one, its first the new', () => {
  ledger.one(JANUARY, a.limit('l', 'u', 100));
  expect(ledger.one(FEBRUARY - 1, a.turn('u'))).toMatchObject({ turned: false });
  expect(ledger.one(FEBRUARY, a.turn('u'))).toMatchObject({ turned: true });
});

test('a clock that is behind turns no month back', () => {
  ledger.one(JANUARY, a.limit('l', 'u', 100));
  ledger.one(FEBRUARY, a.turn('u'));
  expect(ledger.one(FEBRUARY - 1, a.turn('u'))).toMatchObject({ turned: false });
  spend(ledger, FEBRUARY - 1, 'm1', 'u', 5);
  expect(ledger.user('u')).toMatchObject({ used: 5 });
  expect(ledger.usage.get('m1')?.at).toBe(FEBRUARY);
});

test('an open hold goes into the new month and takes its place in the limit', () => {
  ledger.run(JANUARY, [a.limit('l', 'u', 100), a.hold('m1', 'u', 10)]);
  ledger.one(FEBRUARY, a.turn('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 90, held: 10, used: 0 });
});

test('a pool that is short fills what it can', () => {
  ledger.run(JANUARY, [a.limit('l', 'u', 600), a.limit('l2', 'other', 300)]);
  spend(ledger, JANUARY, 'm1', 'u', 500);
  ledger.one(FEBRUARY, a.turn('u'));
  expect(ledger.user('u')).toMatchObject({ balance: 200, used: 0 });
  expect(ledger.ledger).toMatchObject({ pool: 0, allocated: 500, spent: 500 });
});

test('a user without an account has no month to turn', () => {
  const outcome = ledger.run(FEBRUARY, [a.turn('nobody')]);
  expect(outcome).toMatchObject({ results: [{ ok: true, turned: false }], ledger: null, users: [] });
});
