import { agentNames, breakdowns } from '../store/usage-details.ts';
import { type RankedAfter, rankUsage } from '../store/usage-ranking.ts';
import { usersOfAgents } from '../store/usage-unique.ts';
import type { Aggregate } from './aggregation.ts';

/** The agents of the range, the most used first; one that was deleted keeps its name. */
export const aggregateAgents: Aggregate = async (sql, { scope, days, limit, after }) => {
  const ranking = await rankUsage(sql, scope, 'agent_id', days, limit, after.length > 0 ? (after as unknown as RankedAfter) : undefined);
  const page = ranking.rows.slice(0, limit);
  const ids = page.map(({ id }) => id);
  const [models, users, names] = await Promise.all([
    breakdowns(sql, scope, 'agent_id', page, days),
    usersOfAgents(sql, scope, ids, days),
    agentNames(sql, scope, ids),
  ]);
  const last = page.at(-1);
  return {
    agents: page.map(({ id, credits, queries }) => ({
      agentId: id,
      name: names.get(id) ?? '',
      totalCredits: credits,
      queryCount: queries,
      uniqueUsers: users.get(id) ?? 0,
      breakdownByModel: models.get(id) ?? {},
    })),
    totalCredits: ranking.credits,
    totalQueries: ranking.queries,
    total: ranking.total,
    last: last && ranking.rows.length > limit ? [last.credits, last.id] : undefined,
  };
};
