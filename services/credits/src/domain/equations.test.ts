import { beforeEach, expect, test } from '@jest/globals';
import { type Books, checkBooks } from './equations.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';
import { a, JANUARY, spend } from './testing/scenes.ts';

let ledger: LedgerInMemory;

beforeEach(() => {
  ledger = new LedgerInMemory(JANUARY);
  ledger.run(JANUARY, [a.grant('p', 1_000), a.limit('l', 'u', 100), a.hold('m1', 'u', 10)]);
  spend(ledger, JANUARY, 'm2', 'u', 5);
});

function equationsOff(books: Books): string[] {
  return checkBooks(books).map(({ account, equation }) => `${account}: ${equation}`);
}

test('good books are proven', () => {
  expect(checkBooks(ledger.books())).toEqual([]);
});

test('a credit missing from a user account is named with what it should be', () => {
  ledger.users.set('u', { ...ledger.user('u'), balance: 84 });
  expect(checkBooks(ledger.books())).toEqual([
    { equation: 'balance = its transfers', account: 'u', expected: 85, actual: 84 },
    { equation: 'allocated = user accounts + their open holds', account: 'ledger', expected: 94, actual: 95 },
  ]);
});

test('a lost transfer, a lost usage record and a lost hold are each named', () => {
  ledger.transfers.delete('settle:m2:charge');
  expect(equationsOff(ledger.books())).toEqual(['u: held = its transfers', 'ledger: spent = its transfers']);
  ledger = restored();
  ledger.usage.delete('m2');
  expect(equationsOff(ledger.books())).toEqual(['u: used this month = usage records of the month', 'ledger: spent = usage records']);
  ledger = restored();
  ledger.holds.delete('m1');
  expect(equationsOff(ledger.books())).toEqual(['u: held = open holds']);
});

test('a lost account is named by its holds', () => {
  ledger.users.delete('u');
  expect(equationsOff(ledger.books())).toEqual([
    'ledger: allocated = user accounts + their open holds',
    'ledger: no open hold is without an account',
  ]);
});

test('an account above its limit and a figure below zero are named', () => {
  ledger.users.set('u', { ...ledger.user('u'), monthlyLimit: 50 });
  expect(equationsOff(ledger.books())).toEqual(['u: balance <= what the limit allows']);
  ledger.ledger = { ...ledger.ledger, pool: -1 };
  expect(equationsOff(ledger.books())).toContain('ledger: unallocated >= 0');
});

function restored(): LedgerInMemory {
  const fresh = new LedgerInMemory(JANUARY);
  fresh.run(JANUARY, [a.grant('p', 1_000), a.limit('l', 'u', 100), a.hold('m1', 'u', 10)]);
  spend(fresh, JANUARY, 'm2', 'u', 5);
  return fresh;
}
