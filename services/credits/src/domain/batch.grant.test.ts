import { expect, test } from '@jest/globals';
import { maxGrant, maxIssued } from './accounts.ts';
import { january, op, refusal } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

test('a grant adds credits to the pool and sends credits.replenished', () => {
  const ledger = new LedgerInMemory(january);
  expect(ledger.one(january, op.grant('p', 1_000))).toEqual({ ok: true, kind: 'grant', amount: 1_000 });
  expect(ledger.ledger).toMatchObject({ pool: 1_000, issued: 1_000, lastPurchase: 1_000 });
  expect([...ledger.events.values()]).toEqual([
    {
      id: 'grant:p:credits.replenished:purchase',
      type: 'credits.replenished',
      amount: 1_000,
      balance: 1_000,
      source: 'purchase',
      at: january,
    },
  ]);
});

test('a repeated grant adds nothing, and with another amount it is a conflict', () => {
  const ledger = new LedgerInMemory(january);
  const first = ledger.one(january, op.grant('p', 1_000));
  expect(ledger.one(january, op.grant('p', 1_000))).toEqual(first);
  expect(ledger.one(january, op.grant('p', 1_001))).toEqual(refusal('idempotency_conflict'));
  expect(ledger.ledger.pool).toBe(1_000);
});

test('amounts that are not integers within bounds move nothing and are not stored', () => {
  const ledger = new LedgerInMemory(january);
  for (const amount of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, maxGrant + 1]) {
    expect(ledger.one(january, op.grant('p', amount))).toEqual(refusal('invalid_request'));
  }
  expect(ledger.one(january, op.hold('m', 'u', -4))).toEqual(refusal('invalid_request'));
  expect(ledger.one(january, { kind: 'hold', id: 'm', userId: 'u', amount: 4, deadline: Number.NaN })).toEqual(refusal('invalid_request'));
  expect(ledger.one(january, op.settle('m', -4))).toEqual(refusal('invalid_request'));
  expect(ledger.one(january, op.limit('l', 'u', 2_000_000_001))).toEqual(refusal('invalid_request'));
  expect(ledger.one(january, op.grant('p', 5))).toMatchObject({ ok: true });
});

test('more credits than can be counted exactly are refused', () => {
  const ledger = new LedgerInMemory(january);
  ledger.ledger = { ...ledger.ledger, pool: maxIssued - 10, issued: maxIssued - 10 };
  expect(ledger.one(january, op.grant('p', 11))).toEqual(refusal('issue_limit_reached'));
  expect(ledger.one(january, op.grant('q', 10))).toMatchObject({ ok: true });
});
