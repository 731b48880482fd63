import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf, type Environment } from '../../api/client.ts';
import { keepSameList } from '../../api/lists.ts';

export const groupings = ['day', 'week', 'month', 'user', 'agent'] as const;
export type Grouping = (typeof groupings)[number];

/** A group of usage, for each kind of grouping. */
export interface UsageGroup {
  date?: string;
  week?: string;
  month?: string;
  user_id?: string;
  agent_id?: string;
  name?: string;
  total_credits: number;
  query_count: number;
  unique_users?: number;
  unique_agents?: number;
  breakdown_by_model: Record<string, number>;
}

export interface UsagePage {
  data: UsageGroup[];
  meta: {
    next_cursor: string | null;
    total: number;
    total_credits: number;
    total_queries: number;
    date_range: { from: string; to: string };
  };
}

export interface UsageRange {
  from?: string;
  to?: string;
}

const dayMs = 86_400_000;
const isoDay = (time: number) => new Date(time).toISOString().slice(0, 10);

/** The last days, today included, in UTC as the API counts them. */
export const lastDays = (count: number): Required<UsageRange> => ({
  from: isoDay(Date.now() - (count - 1) * dayMs),
  to: isoDay(Date.now()),
});

export async function readUsage(
  environment: Environment,
  grouping: Grouping,
  { from, to }: UsageRange,
  cursor?: string,
  limit = 200,
): Promise<UsagePage> {
  const query = { group_by: grouping, limit, ...(from && { date_from: from }), ...(to && { date_to: to }), ...(cursor && { cursor }) };
  return (await bodyOf(api(environment).GET('/v1/credits/usage', { params: { query } }))) as unknown as UsagePage;
}

/** The usage of a whole range, which may have more days than a page of the API. */
export async function readPeriods(environment: Environment, grouping: Grouping, range: UsageRange): Promise<UsagePage> {
  const { data: first, meta } = await readUsage(environment, grouping, range);
  const data = [...first];
  for (let cursor = meta.next_cursor; cursor; ) {
    const page = await readUsage(environment, grouping, range, cursor);
    data.push(...page.data);
    cursor = page.meta.next_cursor;
  }
  return { data, meta: { ...meta, next_cursor: null } };
}

export const usageQuery = (environment: Environment, grouping: Grouping, range: UsageRange) =>
  queryOptions({
    queryKey: [environment, 'credits', 'usage', grouping, range],
    queryFn: () => readUsage(environment, grouping, range),
    placeholderData: keepSameList([environment, 'credits', 'usage', grouping]),
  });

export const balanceQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'credits', 'settings'],
    queryFn: async () => (await bodyOf(api(environment).GET('/v1/credits/settings'))).data,
  });

export const summaryQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'credits', 'summary'],
    queryFn: async () => (await bodyOf(api(environment).GET('/v1/credits/summary'))).data,
  });

/** Every day of the range, those without usage too, so that the axis shows time as it passed. */
export function fillDays({ data, meta: { date_range: range } }: UsagePage): UsageGroup[] {
  const byDate = new Map(data.map((group) => [group.date, group]));
  const days: UsageGroup[] = [];
  for (let time = Date.parse(range.from); time <= Date.parse(range.to); time += dayMs) {
    const date = isoDay(time);
    days.push(byDate.get(date) ?? { date, total_credits: 0, query_count: 0, breakdown_by_model: {} });
  }
  return days;
}

/** A chart of credits by model, over time or for each user or agent. */
export function usageSpec(rows: { label: string; breakdown: Record<string, number> }[], isTime: boolean): object {
  const values = rows.flatMap(({ label, breakdown }) => {
    const entries = Object.entries(breakdown).filter(([, credits]) => credits > 0);
    return (entries.length > 0 ? entries : [['Fast', 0] as const]).map(([model, credits]) => ({ label, model, credits }));
  });
  const axis = isTime ? { labelAngle: 0 } : { labelLimit: 120 };
  return {
    data: { values },
    mark: 'bar',
    encoding: {
      x: { field: 'label', type: 'ordinal', sort: null, title: null, axis },
      y: { field: 'credits', type: 'quantitative', title: 'Credits', axis: { tickCount: 4 } },
      color: { field: 'model', type: 'nominal', title: null, scale: { domain: ['Fast', 'Smart', 'Expert', 'Premium'] } },
    },
  };
}

const shortDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });
const shortMonth = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone: 'UTC' });

export const dayLabel = (date: string): string => shortDay.format(new Date(date));
export const monthLabel = (date: string): string => shortMonth.format(new Date(date));
