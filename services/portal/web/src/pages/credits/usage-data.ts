import { queryOptions } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { api, bodyOf, type Environment } from '../../api/client.ts';
import { keepSameList } from '../../api/lists.ts';
import { readWhole } from '../../api/pages.ts';
import { subscribeToMinutes } from '../../ui/format.tsx';
import { dayMs, isoDay, type UsagePage } from './usage-groups.ts';

export const groupings = ['day', 'week', 'month', 'user', 'agent'] as const;
export type Grouping = (typeof groupings)[number];

export interface UsageRange {
  from?: string;
  to?: string;
}

/** The last days, today included, in UTC as the API counts them. At midnight it is the next day, also on a page that stays open. */
export function useLastDays(count: number): Required<UsageRange> {
  const today = useSyncExternalStore(subscribeToMinutes, () => isoDay(Date.now()));
  return { from: isoDay(Date.parse(today) - (count - 1) * dayMs), to: today };
}

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
export const readPeriods = (environment: Environment, grouping: Grouping, range: UsageRange): Promise<UsagePage> =>
  readWhole((cursor) => readUsage(environment, grouping, range, cursor));

export const dayUsageQuery = (environment: Environment, range: UsageRange) =>
  queryOptions({
    queryKey: [environment, 'credits', 'usage', 'day', range],
    queryFn: () => readUsage(environment, 'day', range),
    placeholderData: keepSameList([environment, 'credits', 'usage', 'day']),
  });

export const creditSettingsQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'credits', 'settings'],
    queryFn: async () => (await bodyOf(api(environment).GET('/v1/credits/settings'))).data,
  });

/** True if an answer was ever paid. */
export const hasUsageQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'credits', 'usage', 'any'],
    queryFn: async () => (await bodyOf(api(environment).GET('/v1/credits/usage', { params: { query: { limit: 1 } } }))).data.length > 0,
  });

export const summaryQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'credits', 'summary'],
    queryFn: async () => (await bodyOf(api(environment).GET('/v1/credits/summary'))).data,
  });
