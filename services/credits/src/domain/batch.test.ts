import { expect, test } from '@jest/globals';
import { newLedger, newUser } from './accounts.ts';
import { applyOperations } from './batch.ts';
import { openHold } from './holds.ts';
import type { Operation } from './operations.ts';
import { january, op, refusal } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';
import { touchedBy, Workspace } from './workspace.ts';

test('one batch can grant, allocate, hold and settle, each with the effect of the one before', () => {
  const ledger = new LedgerInMemory(january);
  const { results } = ledger.run(january, [
    op.grant('p', 10),
    op.limit('l', 'u', 10),
    op.hold('m', 'u', 4),
    op.settle('m', 3),
    op.read('u'),
  ]);
  expect(results.every((result) => result.ok)).toBe(true);
  expect(results.at(-1)).toMatchObject({ user: { balance: 7, usedThisMonth: 3 } });
});

test('a batch of refusals stores them and moves nothing', () => {
  const ledger = new LedgerInMemory(january);
  const outcome = ledger.run(january + 1, [op.hold('m', 'u', 4), op.limit('l', 'u', 4), op.settle('x', 1)]);
  expect(outcome.results.map((result) => result.ok)).toEqual([false, false, false]);
  expect(outcome).toMatchObject({ ledger: null, users: [], transfers: [], usage: [], events: [] });
  expect(outcome.holds.map((hold) => hold.state)).toEqual(['refused', 'void']);
  expect(outcome.remembered.map((record) => record.id)).toEqual(['l']);
});

test('an inconsistent state fails the whole batch', () => {
  const holds = new Map([['m', openHold({ id: 'm', userId: 'u', amount: 4, deadline: january }, january)]]);
  const state = { ledger: newLedger(january), users: new Map(), holds, remembered: new Map() };
  expect(() => applyOperations(state, january, [op.settle('m', 1)])).toThrow('the account of user u is missing for hold m');
});

test('an account that holds less than its open hold fails the whole batch', () => {
  const holds = new Map([['m', openHold({ id: 'm', userId: 'u', amount: 4, deadline: january }, january)]]);
  const users = new Map([['u', { ...newUser('u', 10, january), onHold: 3 }]]);
  const state = { ledger: newLedger(january), users, holds, remembered: new Map() };
  expect(() => applyOperations(state, january, [op.settle('m', 4)])).toThrow('would leave holds below zero');
});

test('a transfer of a negative amount fails the whole batch, also from outside', () => {
  const state = { ledger: newLedger(january), users: new Map(), holds: new Map(), remembered: new Map() };
  const work = new Workspace(state, january);
  expect(() => work.transfer('grant:p', 'purchase', -1, null)).toThrow('transfer grant:p:purchase of -1 would leave outside below zero');
});

test.each<Operation>([
  op.hold('', 'u', 4),
  op.hold('m', '', 4),
  op.settle('', 4),
  op.release(''),
  op.grant('', 4),
  op.limit('', 'u', 4),
  op.limit('l', '', 4),
  { kind: 'settings', id: '', changes: {} },
  op.startMonth(''),
  op.read(''),
])('an operation with an empty id is refused and stores nothing: %j', (operation) => {
  const outcome = new LedgerInMemory(january).run(january, [operation]);
  expect(outcome).toMatchObject({ results: [refusal('invalid_request')], ledger: null, users: [], holds: [], remembered: [] });
});

test('touchedBy lists the rows that a batch needs', () => {
  const touched = touchedBy([
    op.hold('m1', 'u1', 1),
    op.settle('m2', 1),
    op.release('m3'),
    op.grant('g', 1),
    op.limit('l', 'u2', 1),
    op.read('u3'),
    op.startMonth('u4'),
  ]);
  expect([...touched.users]).toEqual(['u1', 'u2', 'u3', 'u4']);
  expect([...touched.holds]).toEqual(['m1', 'm2', 'm3']);
  expect([...touched.remembered]).toEqual(['g', 'l']);
});
