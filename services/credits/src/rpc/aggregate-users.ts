import { isoTime } from '@agent-service/store';
import { breakdowns, lastUses } from '../store/usage-details.ts';
import { type RankedAfter, rankUsage } from '../store/usage-ranking.ts';
import { agentsOfUsers } from '../store/usage-unique.ts';
import type { Aggregate } from './aggregation.ts';

/** The users of the range, who used the most first. */
export const aggregateUsers: Aggregate = async (sql, { scope, days, limit, after }) => {
  const ranking = await rankUsage(sql, scope, 'user_id', days, limit, after.length > 0 ? (after as unknown as RankedAfter) : undefined);
  const page = ranking.rows.slice(0, limit);
  const ids = page.map(({ id }) => id);
  const [models, agents, times] = await Promise.all([
    breakdowns(sql, scope, 'user_id', page, days),
    agentsOfUsers(sql, scope, ids, days),
    lastUses(sql, scope, page),
  ]);
  const last = page.at(-1);
  return {
    users: page.map(({ id, credits, queries, lastDay }) => ({
      userId: id,
      totalCredits: credits,
      queryCount: queries,
      uniqueAgents: agents.get(id) ?? 0,
      breakdownByModel: models.get(id) ?? {},
      lastUsedAt: isoTime(times.get(id) ?? lastDay),
    })),
    totalCredits: ranking.credits,
    totalQueries: ranking.queries,
    total: ranking.total,
    last: last && ranking.rows.length > limit ? [last.credits, last.id] : undefined,
  };
};
