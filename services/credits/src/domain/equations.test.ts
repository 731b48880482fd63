import { beforeEach, expect, test } from '@jest/globals';
import { checkFigures, type TenantFigures, type UserFigures } from './equations.ts';
import { january, op, spend } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

let ledger: LedgerInMemory;

beforeEach(() => {
  ledger = new LedgerInMemory(january);
  ledger.run(january, [op.grant('p', 1_000), op.limit('l', 'u', 100), op.hold('m1', 'u', 10)]);
  spend(ledger, january, 'm2', 'u', 5);
});

function equationsOff(figures: TenantFigures): string[] {
  return checkFigures(figures).map(({ account, equation }) => `${account}: ${equation}`);
}

test('consistent figures have no discrepancies', () => {
  expect(checkFigures(ledger.figures())).toEqual([]);
});

test('a credit missing from a user account is reported with the expected figure', () => {
  ledger.users.set('u', { ...ledger.user('u'), balance: 84 });
  expect(checkFigures(ledger.figures())).toEqual([
    { equation: 'balance = its transfers', account: 'u', expected: 85, actual: 84 },
    { equation: 'allocated = user accounts + their open holds', account: 'ledger', expected: 94, actual: 95 },
  ]);
});

test('a lost transfer, a lost usage record and a lost hold are each reported', () => {
  ledger.transfers.delete('settle:m2:charge');
  expect(equationsOff(ledger.figures())).toEqual(['u: held = its transfers', 'ledger: spent = its transfers']);
  ledger = restored();
  ledger.usage.delete('m2');
  expect(equationsOff(ledger.figures())).toEqual(['u: used this month = usage records of the month', 'ledger: spent = usage records']);
  ledger = restored();
  ledger.holds.delete('m1');
  expect(equationsOff(ledger.figures())).toEqual(['u: held = open holds']);
});

test('a lost account is reported because of its holds', () => {
  ledger.users.delete('u');
  expect(equationsOff(ledger.figures())).toEqual([
    'ledger: allocated = user accounts + their open holds',
    'ledger: no open hold is without an account',
  ]);
});

test('an account above its limit and a figure below zero are reported', () => {
  ledger.users.set('u', { ...ledger.user('u'), monthlyLimit: 50 });
  expect(equationsOff(ledger.figures())).toEqual(['u: balance <= what the limit allows']);
  ledger.ledger = { ...ledger.ledger, pool: -1 };
  expect(equationsOff(ledger.figures())).toContain('ledger: unallocated >= 0');
  ledger.ledger = { ...ledger.ledger, spent: -1 };
  expect(equationsOff(ledger.figures())).toContain('ledger: spent >= 0');
});

type Falsify = (figures: TenantFigures) => Partial<TenantFigures>;

const ledgerWith =
  (change: (ledger: TenantFigures['ledger']) => Partial<TenantFigures['ledger']>): Falsify =>
  ({ ledger: row }) => ({ ledger: { ...row, ...change(row) } });

const accountWith =
  (change: Partial<UserFigures['account']>): Falsify =>
  ({ users }) => ({ users: [...users].map((user) => ({ ...user, account: { ...user.account, ...change } })) });

const userWith =
  (change: Partial<UserFigures>): Falsify =>
  ({ users }) => ({ users: [...users].map((user) => ({ ...user, ...change })) });

test.each<[string, Falsify]>([
  ['ledger: allocated = user accounts + their open holds', ledgerWith(({ allocated }) => ({ allocated: allocated + 1 }))],
  ['ledger: issued = unallocated + allocated + spent', ledgerWith(({ issued }) => ({ issued: issued + 1 }))],
  ['ledger: unallocated = its transfers', () => ({ poolByTransfers: 1 })],
  ['ledger: spent = its transfers', () => ({ spentByTransfers: 1 })],
  ['ledger: issued = its transfers', () => ({ issuedByTransfers: 1 })],
  ['ledger: spent = usage records', () => ({ spentByRecords: 1 })],
  ['ledger: no open hold is without an account', () => ({ strayHolds: 1 })],
  ['ledger: unallocated >= 0', ledgerWith(() => ({ pool: -1 }))],
  ['ledger: allocated >= 0', ledgerWith(() => ({ allocated: -1 }))],
  ['ledger: spent >= 0', ledgerWith(() => ({ spent: -1 }))],
  ['ledger: issued >= 0', ledgerWith(() => ({ issued: -1 }))],
  ['u: held = open holds', userWith({ openHolds: 1 })],
  ['u: balance = its transfers', userWith({ balanceByTransfers: 1 })],
  ['u: held = its transfers', userWith({ heldByTransfers: 1 })],
  ['u: used this month = usage records of the month', userWith({ usedByRecords: 1 })],
  ['u: balance <= what the limit allows', accountWith({ monthlyLimit: 50 })],
  ['u: carried <= monthly limit', accountWith({ carried: 101 })],
  ['u: balance >= 0', accountWith({ balance: -1 })],
  ['u: held >= 0', accountWith({ onHold: -1 })],
  ['u: used this month >= 0', accountWith({ used: -1 })],
  ['u: carried >= 0', accountWith({ carried: -1 })],
])('a false figure is reported: %s', (equation, falsify) => {
  const figures = ledger.figures();
  expect(equationsOff({ ...figures, ...falsify(figures) })).toContain(equation);
});

function restored(): LedgerInMemory {
  const fresh = new LedgerInMemory(january);
  fresh.run(january, [op.grant('p', 1_000), op.limit('l', 'u', 100), op.hold('m1', 'u', 10)]);
  spend(fresh, january, 'm2', 'u', 5);
  return fresh;
}
