import { expect, test } from '@jest/globals';
import { newLedger } from './accounts.ts';
import { runBatch } from './batch.ts';
import { openHold } from './holds.ts';
import { touchedBy } from './operations.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';
import { a, JANUARY } from './testing/scenes.ts';

test('one batch can grant, allocate, hold and settle, each seeing the one before', () => {
  const ledger = new LedgerInMemory(JANUARY);
  const { results } = ledger.run(JANUARY, [a.grant('p', 10), a.limit('l', 'u', 10), a.hold('m', 'u', 4), a.settle('m', 3), a.read('u')]);
  expect(results.every((result) => result.ok)).toBe(true);
  expect(results.at(-1)).toMatchObject({ user: { balance: 7, usedThisMonth: 3 } });
});

test('a batch of refusals writes what it must remember and moves nothing', () => {
  const ledger = new LedgerInMemory(JANUARY);
  const outcome = ledger.run(JANUARY + 1, [a.hold('m', 'u', 4), a.limit('l', 'u', 4), a.settle('x', 1)]);
  expect(outcome.results.map((result) => result.ok)).toEqual([false, false, false]);
  expect(outcome).toMatchObject({ ledger: null, users: [], transfers: [], usage: [], events: [] });
  expect(outcome.holds.map((hold) => hold.state)).toEqual(['refused', 'void']);
  expect(outcome.remembered.map((record) => record.id)).toEqual(['l']);
});

test('a state that could not have come about stops the whole batch', () => {
  const holds = new Map([['m', openHold('m', 'u', 4, JANUARY, JANUARY)]]);
  const state = { ledger: newLedger(JANUARY), users: new Map(), holds, remembered: new Map() };
  expect(() => runBatch(state, JANUARY, [a.settle('m', 1)])).toThrow('the account of user u is missing for hold m');
});

test('what a batch touches is named, for the store to load', () => {
  const touched = touchedBy([
    a.hold('m1', 'u1', 1),
    a.settle('m2', 1),
    a.release('m3'),
    a.grant('g', 1),
    a.limit('l', 'u2', 1),
    a.read('u3'),
    a.turn('u4'),
  ]);
  expect([...touched.users]).toEqual(['u1', 'u2', 'u3', 'u4']);
  expect([...touched.holds]).toEqual(['m1', 'm2', 'm3']);
  expect([...touched.remembered]).toEqual(['g', 'l']);
});
