import { type Day, type Grain, type Period, periodOf } from './periods.ts';

/** What a tier used up on a day. */
export interface TierDay {
  day: Day;
  tier: string;
  credits: number;
  queries: number;
}

export interface PeriodUsage {
  period: Period;
  credits: number;
  queries: number;
  /** Credits by tier. */
  breakdown: Record<string, number>;
}

/** The periods that have usage, earliest first. */
export function usageByPeriod(days: readonly TierDay[], grain: Grain): PeriodUsage[] {
  const periods = new Map<Day, PeriodUsage>();
  for (const { day, tier, credits, queries } of days) {
    const period = periodOf(day, grain);
    const usage = periods.get(period.date) ?? { period, credits: 0, queries: 0, breakdown: {} };
    periods.set(period.date, usage);
    usage.credits += credits;
    usage.queries += queries;
    usage.breakdown[tier] = (usage.breakdown[tier] ?? 0) + credits;
  }
  return [...periods.values()].sort((a, b) => (a.period.date < b.period.date ? -1 : 1));
}
