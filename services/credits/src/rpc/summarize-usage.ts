import { callers, type RpcOf } from '@agent-service/contracts';
import type { CreditsContext } from '../context.ts';
import { billingPeriod, dayOf } from '../domain/calendar.ts';
import { agentNames } from '../store/usage-details.ts';
import { rankUsage } from '../store/usage-ranking.ts';
import { tierTotals } from '../store/usage-totals.ts';
import { uniqueUsers } from '../store/usage-unique.ts';
import { scopeOf } from './usage-request.ts';

const mostUsed = 10;

/** The current billing period of the tenant. */
export const summarizeUsage = ({ store: { sql }, now }: CreditsContext): RpcOf<'credits', 'summarizeUsage'> => ({
  allow: callers({ scope: 'credits:read' }),
  async handle(_request, call) {
    const scope = scopeOf(call.tenant, null);
    const { start, end } = billingPeriod(now());
    const days = { from: dayOf(start), to: dayOf(end - 1) };
    const [tiers, users, agents] = await Promise.all([
      tierTotals(sql, scope, days),
      uniqueUsers(sql, scope, 'month', days, [days.from]),
      rankUsage(sql, scope, 'agent_id', days, mostUsed),
    ]);
    const top = agents.rows.slice(0, mostUsed);
    const names = await agentNames(
      sql,
      scope,
      top.map(({ id }) => id),
    );
    return {
      summary: {
        periodStart: new Date(start).toISOString(),
        periodEnd: new Date(end).toISOString(),
        totalCreditsUsed: tiers.reduce((sum, { credits }) => sum + credits, 0),
        totalQueries: tiers.reduce((sum, { queries }) => sum + queries, 0),
        activeUsers: users.get(days.from) ?? 0,
        mostUsedAgents: top.map(({ id, credits, queries }) => ({
          agentId: id,
          name: names.get(id) ?? '',
          creditsUsed: credits,
          queryCount: queries,
        })),
        modelDistribution: Object.fromEntries(tiers.map(({ tier, credits, queries }) => [tier, { credits, queries }])),
      },
    };
  },
});
