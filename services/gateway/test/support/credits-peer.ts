import { callers, type Implementation, services } from '@agent-service/contracts';

const balance = {
  organizationId: 'org_a',
  balance: 100,
  allocated: 40,
  unallocated: 60,
  autoReplenish: false,
  replenishThreshold: 100,
  replenishAmount: 1000,
  defaultMonthlyLimit: 500,
  updatedAt: '2026-01-31T10:00:00.000Z',
};
const page = { total: 1, nextCursor: '' };
const sums = { totalCredits: 3, queryCount: 1, breakdownByModel: { Fast: 3 } };

/** The usual responses of the credits service to the gateway; methods for other services are refused. */
export function usualCredits(): Implementation<'credits'> {
  const refused = { allow: services(), handle: async () => ({}) };
  const reads = { allow: callers({ scope: 'credits:read' }) };
  const writes = { allow: callers({ scope: 'credits:write' }) };
  return {
    getBalance: { ...reads, handle: async () => ({ balance }) },
    getUserBalance: {
      ...reads,
      handle: async ({ userId }) => ({
        balance: { userId, balance: 40, monthlyLimit: 40, usedThisMonth: 0, rolloverEnabled: false, updatedAt: balance.updatedAt },
      }),
    },
    setAllocation: {
      ...writes,
      handle: async (request) => ({ allocation: { ...request, effectiveFrom: balance.updatedAt, updatedAt: balance.updatedAt } }),
    },
    updateSettings: { ...writes, handle: async () => ({ balance }) },
    listUsage: {
      ...reads,
      handle: async () => ({
        records: [
          {
            id: 'use_1',
            userId: 'usr_1',
            agentId: 'agt_1',
            conversationId: 'conv_1',
            creditsConsumed: 3,
            model: 'Fast',
            querySummary: 'How much?',
            timestamp: balance.updatedAt,
          },
        ],
        page,
      }),
    },
    aggregateUsage: { ...reads, handle: async ({ groupBy }) => aggregate(groupBy) },
    summarizeUsage: {
      ...reads,
      handle: async () => ({
        summary: {
          periodStart: '2026-01-01T00:00:00.000Z',
          periodEnd: '2026-02-01T00:00:00.000Z',
          totalCreditsUsed: 3,
          totalQueries: 1,
          activeUsers: 1,
          mostUsedAgents: [{ agentId: 'agt_1', name: 'Sales', creditsUsed: 3, queryCount: 1 }],
          modelDistribution: { Fast: { credits: 3, queries: 1 } },
        },
      }),
    },
    hold: refused,
    settle: refused,
    release: refused,
    listOverdueHolds: refused,
    grant: refused,
    verifyLedger: refused,
    listDeadLetters: refused,
    retryDeadLetters: refused,
  };
}

function aggregate(groupBy: string) {
  const totals = { totalCredits: 3, totalQueries: 1, dateRange: { from: '2026-01-01', to: '2026-01-31' }, page };
  if (groupBy === 'user') return { ...totals, users: [{ userId: 'usr_1', ...sums, uniqueAgents: 1, lastUsedAt: balance.updatedAt }] };
  if (groupBy === 'agent') return { ...totals, agents: [{ agentId: 'agt_1', name: 'Sales', ...sums, uniqueUsers: 1 }] };
  const period = { date: '2026-01-05', ...sums, uniqueUsers: 1 };
  const label = groupBy === 'week' ? { week: '2026-W02' } : groupBy === 'month' ? { month: '2026-01' } : {};
  return { ...totals, periods: [{ ...period, ...label }] };
}
