import fc from 'fast-check';
import { dayMs } from '../src/domain/calendar.ts';

const historyStart = Date.UTC(2026, 0, 20, 7);

interface Use {
  userId: string;
  agentId: string;
  agentName: string;
  tier: string;
  credits: number;
}

/** Uses that are settled at one time. */
export interface Moment {
  at: number;
  uses: Use[];
}

const use: fc.Arbitrary<Use> = fc.record({
  userId: fc.constantFrom('usr_a', 'usr_b', 'usr_c', 'usr_d', 'usr_e'),
  agentId: fc.constantFrom('agt_1', 'agt_2', 'agt_3'),
  agentName: fc.constantFrom('Sales', 'Stock', 'Sales 2'),
  tier: fc.constantFrom('Fast', 'Smart', 'Expert', 'Premium'),
  credits: fc.integer({ min: 0, max: 50 }),
});

/** Within a day, until exactly midnight, or some days. */
const pause = fc.oneof(fc.integer({ min: 0, max: dayMs / 3 }), fc.constant('midnight' as const), fc.integer({ min: 0, max: 12 * dayMs }));

const untilMidnight = (at: number) => dayMs - (at % dayMs);

/** The usage of a tenant over some weeks. */
export const histories: fc.Arbitrary<Moment[]> = fc
  .array(fc.record({ pause, uses: fc.array(use, { minLength: 1, maxLength: 6 }) }), { minLength: 1, maxLength: 14 })
  .map((steps) => {
    let at = historyStart;
    return steps.map((step) => {
      at += step.pause === 'midnight' ? untilMidnight(at) : step.pause;
      return { at, uses: step.uses };
    });
  });

/** A bound of a request: none, a date or a time, from days before the history to days after it. */
const bound = fc.oneof(
  fc.constant(''),
  fc.integer({ min: -5, max: 90 }).map((days) => new Date(historyStart + days * dayMs).toISOString().slice(0, 10)),
  fc.integer({ min: -2 * dayMs, max: 60 * dayMs }).map((after) => new Date(historyStart + after).toISOString()),
);

export interface UsageRequest {
  userId: string;
  agentId: string;
  dateFrom: string;
  dateTo: string;
  groupBy: '' | 'day' | 'week' | 'month' | 'user' | 'agent';
  limit: number;
}

export const usageRequests: fc.Arbitrary<UsageRequest> = fc.record({
  userId: fc.constantFrom('', '', 'usr_a', 'usr_b', 'usr_unknown'),
  agentId: fc.constantFrom('', '', 'agt_1', 'agt_2'),
  dateFrom: bound,
  dateTo: bound,
  groupBy: fc.constantFrom('', '', 'day', 'week', 'month', 'user', 'agent'),
  limit: fc.constantFrom(1, 2, 3, 50, 200),
});
