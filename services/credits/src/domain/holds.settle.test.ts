import { beforeEach, expect, test } from '@jest/globals';
import { dayMs } from './calendar.ts';
import { exampleUsage, february, january, op, refusal } from './testing/examples.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

let ledger: LedgerInMemory;

beforeEach(() => {
  ledger = new LedgerInMemory(january);
  ledger.run(january, [op.grant('purchase', 1_000), op.limit('l', 'u', 100), op.hold('m1', 'u', 10)]);
});

test('a settle charges what was used and frees the rest', () => {
  expect(ledger.one(january, op.settle('m1', 3))).toEqual({ ok: true, kind: 'settle', charge: 3 });
  expect(ledger.user('u')).toMatchObject({ balance: 97, onHold: 0, used: 3 });
  expect(ledger.ledger).toMatchObject({ pool: 900, allocated: 97, spent: 3, issued: 1_000 });
});

test('a charge is never above its hold', () => {
  expect(ledger.one(january, op.settle('m1', 999))).toEqual({ ok: true, kind: 'settle', charge: 10 });
});

test('a settled answer leaves one usage record, a free one too', () => {
  ledger.run(january, [op.settle('m1', 3), op.hold('m2', 'u', 5), op.settle('m2', 0), op.settle('m2', 0)]);
  expect([...ledger.usage.values()]).toEqual([
    { ...exampleUsage, holdId: 'm1', userId: 'u', credits: 3, at: january },
    { ...exampleUsage, holdId: 'm2', userId: 'u', credits: 0, at: january },
  ]);
});

test('every transfer has an id with the id of its operation', () => {
  ledger.one(january, op.settle('m1', 3));
  expect([...ledger.transfers.values()].map(({ id, from, to, amount }) => [id, from, to, amount])).toEqual([
    ['grant:purchase:purchase', 'outside', 'pool', 1_000],
    ['allocate:l:fill', 'pool', 'user', 100],
    ['hold:m1:hold', 'user', 'holds', 10],
    ['settle:m1:charge', 'holds', 'spent', 3],
    ['settle:m1:release', 'holds', 'user', 7],
  ]);
});

test('a charge counts in the month it settles', () => {
  ledger.one(february, op.settle('m1', 3));
  expect(ledger.user('u')).toMatchObject({ used: 3, balance: 97 });
  expect(ledger.usage.get('m1')?.at).toBe(february);
});

test('credits that a lowered limit no longer allows go to the pool when the hold ends', () => {
  ledger.one(january, op.limit('l2', 'u', 2));
  expect(ledger.user('u')).toMatchObject({ balance: 0, onHold: 10 });
  ledger.one(january, op.settle('m1', 1));
  expect(ledger.user('u')).toMatchObject({ balance: 1, onHold: 0, used: 1 });
  expect(ledger.ledger).toMatchObject({ pool: 998, spent: 1 });
});

test('a repeated settle has the first result and charges nothing', () => {
  const first = ledger.one(january, op.settle('m1', 3));
  expect(ledger.one(january + dayMs, op.settle('m1', 3))).toEqual(first);
  expect(ledger.ledger.spent).toBe(3);
});

test('a repeated settle is the same after a change of prices or of the agent name', () => {
  const first = ledger.one(january, op.settle('m1', 3));
  const repeat = { kind: 'settle' as const, id: 'm1', amount: 6, usage: { ...exampleUsage, agentName: 'Renamed' } };
  expect(ledger.one(january, repeat)).toEqual(first);
});

test('a repeated settle with other contents is a conflict', () => {
  ledger.one(january, op.settle('m1', 3));
  const others = [
    { inputTokens: 101 },
    { outputTokens: 51 },
    { tier: 'Smart' },
    { agentId: 'agt_2' },
    { conversationId: 'c' },
    { querySummary: 'x' },
  ];
  for (const other of others) {
    const repeat = { kind: 'settle' as const, id: 'm1', amount: 3, usage: { ...exampleUsage, ...other } };
    expect(ledger.one(january, repeat)).toEqual(refusal('idempotency_conflict'));
  }
  expect(ledger.ledger.spent).toBe(3);
});

test('a released hold cannot be settled', () => {
  ledger.one(january, op.release('m1'));
  expect(ledger.one(january, op.settle('m1', 3))).toEqual(refusal('hold_released'));
});

test('a hold that was never granted cannot be settled', () => {
  ledger.one(january, op.hold('m2', 'u', 500));
  expect(ledger.one(january, op.settle('m2', 3))).toEqual(refusal('hold_not_found'));
  expect(ledger.one(january, op.settle('unknown', 3))).toEqual(refusal('hold_not_found'));
  expect(ledger.ledger.spent).toBe(0);
});

test('an id that was settled before it was held is never held', () => {
  ledger.one(january, op.settle('m2', 3));
  expect(ledger.one(january, op.hold('m2', 'u', 4))).toEqual(refusal('hold_released'));
});

test('a hold that ended more than 7 days ago refuses a later settle, its own repeat included', () => {
  ledger.one(january, op.settle('m1', 3));
  expect(ledger.one(january + 7 * dayMs, op.settle('m1', 3))).toMatchObject({ ok: true });
  expect(ledger.one(january + 7 * dayMs + 1, op.settle('m1', 3))).toEqual(refusal('hold_not_found'));
});
