import type { Grain } from '../domain/calendar.ts';
import { usageByPeriod } from '../domain/usage.ts';
import { usageDays } from '../store/usage-days.ts';
import { uniqueUsers } from '../store/usage-unique.ts';
import type { Aggregate } from './aggregation.ts';

/** The range's periods with usage, earliest first. */
export const aggregatePeriods =
  (grain: Grain): Aggregate =>
  async (sql, { scope, days, limit, after: [after] }) => {
    const all = usageByPeriod(await usageDays(sql, scope, days), grain);
    const rest = after === undefined ? all : all.filter(({ period }) => period.date > String(after));
    const page = rest.slice(0, limit);
    const dates = page.map(({ period }) => period.date);
    const users = await uniqueUsers(sql, scope, grain, days, dates);
    const last = page.at(-1);
    return {
      periods: page.map(({ period, credits, queries, breakdown }) => ({
        ...period,
        totalCredits: credits,
        queryCount: queries,
        uniqueUsers: users.get(period.date) ?? 0,
        breakdownByModel: breakdown,
      })),
      totalCredits: all.reduce((sum, { credits }) => sum + credits, 0),
      totalQueries: all.reduce((sum, { queries }) => sum + queries, 0),
      total: all.length,
      last: last && rest.length > limit ? [last.period.date] : undefined,
    };
  };
