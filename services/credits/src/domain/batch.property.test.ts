import { checkProperty } from '@agent-service/testkit/properties';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { checkFigures } from './equations.ts';
import type { Operation, Result } from './operations.ts';
import { anyHistory, divisibleHistory, historyStart, type Round } from './testing/histories.ts';
import { LedgerInMemory } from './testing/ledger-in-memory.ts';

function play(
  ledger: LedgerInMemory,
  history: readonly Round[],
  cut: (operations: Operation[]) => Operation[][] = (all) => [all],
): Result[] {
  const results: Result[] = [];
  let now = historyStart;
  for (const round of history) {
    now += round.later;
    for (const batch of cut(round.operations)) results.push(...ledger.run(now, batch).results);
  }
  return results;
}

function cutInto(sizes: number[]): (operations: Operation[]) => Operation[][] {
  return (operations) => {
    const batches: Operation[][] = [];
    for (let from = 0, i = 0; from < operations.length; i++) {
      const size = sizes[i % sizes.length] ?? 1;
      batches.push(operations.slice(from, from + size));
      from += size;
    }
    return batches;
  };
}

function endOf(history: readonly Round[]): number {
  return history.reduce((now, round) => now + Math.max(0, round.later), historyStart);
}

test('the equations hold after every batch of any history, and nothing ever goes below zero', () => {
  checkProperty(
    fc.property(anyHistory, (history) => {
      const ledger = new LedgerInMemory(historyStart);
      let now = historyStart;
      for (const round of history) {
        now += round.later;
        ledger.run(now, round.operations);
        expect(checkFigures(ledger.figures())).toEqual([]);
      }
    }),
    1_000,
  );
});

test('the same operations in other batches have the same results and leave the same ledger', () => {
  checkProperty(
    fc.property(divisibleHistory, fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 }), (history, sizes) => {
      const whole = new LedgerInMemory(historyStart);
      const cut = new LedgerInMemory(historyStart);
      expect(play(cut, history, cutInto(sizes))).toEqual(play(whole, history));
      expect(cut.snapshot()).toEqual(whole.snapshot());
    }),
  );
});

test('replaying any prefix changes nothing', () => {
  checkProperty(
    fc.property(anyHistory, fc.nat(), fc.integer({ min: 1, max: 7 }), (history, length, size) => {
      const ledger = new LedgerInMemory(historyStart);
      play(ledger, history);
      const now = endOf(history);
      for (const userId of ledger.users.keys()) ledger.one(now, { kind: 'start_month', userId });
      const before = ledger.snapshot();
      const prefix = history.slice(0, length % (history.length + 1)).flatMap((round) => round.operations);
      for (const batch of cutInto([size])(prefix)) ledger.run(now, batch);
      expect(ledger.snapshot()).toEqual(before);
    }),
  );
});

test('a repeat has the first result, refusals and conflicts included', () => {
  checkProperty(
    fc.property(anyHistory, (history) => {
      const ledger = new LedgerInMemory(historyStart);
      const operations = history.flatMap((round) => round.operations).filter(({ kind }) => kind !== 'start_month' && kind !== 'read');
      const first = ledger.run(historyStart, operations).results;
      expect(ledger.run(historyStart, operations).results).toEqual(first);
    }),
  );
});

test('a charge never exceeds its hold, and what is spent is what was used', () => {
  checkProperty(
    fc.property(anyHistory, (history) => {
      const ledger = new LedgerInMemory(historyStart);
      play(ledger, history);
      for (const record of ledger.usage.values()) {
        const hold = ledger.holds.get(record.holdId);
        expect(hold).toMatchObject({ state: 'settled', charge: record.credits });
        expect(record.credits).toBeLessThanOrEqual(hold?.amount ?? -1);
      }
    }),
  );
});

test('no second warning comes before credits were added', () => {
  checkProperty(
    fc.property(anyHistory, (history) => {
      const ledger = new LedgerInMemory(historyStart);
      play(
        ledger,
        history.map(({ later, operations }) => ({ later, operations: operations.filter(({ kind }) => kind !== 'settings') })),
      );
      const types = [...ledger.events.values()].map((event) => event.type);
      for (const warning of ['credits.low_balance', 'credits.depleted']) {
        const story = types.filter((type) => type === warning || type === 'credits.replenished');
        expect(story.some((type, i) => type === warning && story[i + 1] === warning)).toBe(false);
      }
    }),
  );
});
