import fc from 'fast-check';
import type { Settings } from '../accounts.ts';
import { dayMs } from '../calendar.ts';
import type { Operation, Usage } from '../operations.ts';

/** Operations at one time, `later` milliseconds after the round before. */
export interface Round {
  later: number;
  operations: Operation[];
}

export const historyStart = Date.UTC(2026, 0, 20);

const minuteMs = 60_000;

// Few ids and users, so that histories have many repeats, conflicts and holds of the same user.
const userId = fc.constantFrom('usr_a', 'usr_b', 'usr_c');
const holdId = fc.integer({ min: 1, max: 25 }).map((n) => `msg_${n}`);
const operationId = fc.integer({ min: 1, max: 12 }).map((n) => `op_${n}`);

const usage = fc.constantFrom('Fast', 'Smart').map(
  (tier): Usage => ({
    agentId: 'agt_1',
    agentName: 'Sales',
    conversationId: 'conv_1',
    tier,
    inputTokens: 100,
    outputTokens: 50,
    querySummary: 'How much?',
  }),
);

const hold = fc.record({
  kind: fc.constant('hold' as const),
  id: holdId,
  userId,
  amount: fc.constantFrom(0, 1, 4, 10, 25),
  deadline: fc.constant(historyStart + 5 * minuteMs),
});
const settle = fc.record({ kind: fc.constant('settle' as const), id: holdId, amount: fc.integer({ min: 0, max: 30 }), usage });
const release = fc.record({ kind: fc.constant('release' as const), id: holdId });
const grant = fc.record({ kind: fc.constant('grant' as const), id: operationId, amount: fc.integer({ min: 1, max: 120 }) });
const allocate = fc.record({
  kind: fc.constant('allocate' as const),
  id: operationId,
  userId,
  monthlyLimit: fc.integer({ min: 0, max: 80 }),
  rollover: fc.boolean(),
});
const startMonth = fc.record({ kind: fc.constant('start_month' as const), userId });
const read = fc.record({ kind: fc.constant('read' as const), userId });

function settings(changes: fc.Arbitrary<Partial<Settings>>): fc.Arbitrary<Operation> {
  return fc.record({ kind: fc.constant('settings' as const), id: operationId, changes });
}

const common = {
  autoReplenish: fc.boolean(),
  lowBalanceThreshold: fc.option(fc.integer({ min: 0, max: 60 })),
  defaultMonthlyLimit: fc.integer({ min: 0, max: 60 }),
};

const anySettings = settings(
  fc.record(
    { ...common, replenishThreshold: fc.integer({ min: 0, max: 60 }), replenishAmount: fc.integer({ min: 1, max: 60 }) },
    { requiredKeys: [] },
  ),
);

/** One replenishment always suffices, so that ten operations never reach the limit of a batch. */
const ampleSettings = settings(
  fc.record({ ...common, replenishThreshold: fc.integer({ min: 0, max: 40 }), replenishAmount: fc.integer({ min: 40, max: 60 }) }),
);

function rounds(change: fc.Arbitrary<Operation>): fc.Arbitrary<Round[]> {
  const operation = fc.oneof(
    { weight: 8, arbitrary: hold },
    { weight: 7, arbitrary: settle },
    { weight: 2, arbitrary: release },
    { weight: 2, arbitrary: grant },
    { weight: 2, arbitrary: allocate },
    { weight: 1, arbitrary: change },
    { weight: 1, arbitrary: startMonth },
    { weight: 1, arbitrary: read },
  );
  const later = fc.constantFrom(0, 1, minuteMs, 10 * minuteMs, dayMs, 8 * dayMs, 20 * dayMs, 70 * dayMs, -minuteMs);
  return fc.array(fc.record({ later, operations: fc.array(operation, { minLength: 1, maxLength: 10 }) }), { minLength: 1, maxLength: 25 });
}

/** Any history, clocks that disagree by a minute included. */
export const anyHistory: fc.Arbitrary<Round[]> = rounds(anySettings);

/** Scales the largest monthly limit to the largest valid one. */
const topScale = 25_000_000;

function scaled(operation: Operation): Operation {
  switch (operation.kind) {
    case 'hold':
    case 'settle':
    case 'grant':
      return { ...operation, amount: operation.amount * topScale };
    case 'allocate':
      return { ...operation, monthlyLimit: operation.monthlyLimit * topScale };
    case 'settings': {
      const changes = Object.entries(operation.changes).map(([name, value]) => [
        name,
        typeof value === 'number' ? value * topScale : value,
      ]);
      return { ...operation, changes: Object.fromEntries(changes) };
    }
    default:
      return operation;
  }
}

/** Any history, with amounts up to the largest. */
export const topHistory: fc.Arbitrary<Round[]> = anyHistory.map((history) =>
  history.map(({ later, operations }) => ({ later, operations: operations.map(scaled) })),
);

/** Histories whose outcome must not depend on how they are split into batches. */
export const divisibleHistory: fc.Arbitrary<Round[]> = rounds(ampleSettings);
