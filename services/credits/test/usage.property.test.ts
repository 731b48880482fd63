import type { Tenant } from '@agent-service/contracts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Day, dayMs, periodOf, startOfDay } from '../src/domain/calendar.ts';
import { dayRange, recordRange } from '../src/domain/usage.ts';
import { asCaller, type BootedService, boot } from './boot.ts';
import { type Counted, groupRecords, namesByRecords, selectRecords } from './usage-by-records.ts';
import { histories, type UsageRequest, usageRequests } from './usage-histories.ts';
import { type Clock, grantCredits, useCredits } from './usage-settled.ts';
import { faultsOf } from './verification.ts';

const runs = Number(process.env['FC_RUNS'] ?? 10);
/** A failure is reported with the smallest example so far. */
const limitMs = 12_000 * runs;

const clock: Clock = { at: Date.UTC(2026, 0, 1) };
let credits: BootedService;
beforeAll(async () => {
  credits = await boot({ now: () => clock.at });
});
afterAll(() => credits.stop());

const filterOf = ({ userId, agentId, dateFrom, dateTo }: UsageRequest) => ({ userId, agentId, dateFrom, dateTo });

/** All pages of a list. */
async function readPages<Page extends { page: { nextCursor: string } | null }>(read: (cursor: string) => Promise<Page>): Promise<Page[]> {
  const pages: Page[] = [];
  for (let cursor = ''; ; ) {
    const page = await read(cursor);
    pages.push(page);
    if (!page.page?.nextCursor) return pages;
    cursor = page.page.nextCursor;
  }
}

async function checkRecords(tenant: Tenant, request: UsageRequest): Promise<void> {
  const list = (cursor: string) =>
    asCaller(tenant, () => credits.gateway.listUsage({ filter: filterOf(request), page: { limit: request.limit, cursor } }));
  const range = recordRange({ dateFrom: request.dateFrom || undefined, dateTo: request.dateTo || undefined });
  if (!range.ok) return await expect(list('')).rejects.toMatchObject({ code: 'invalid_request', param: range.param });
  const expected = await selectRecords(credits.url, tenant, request, range);
  const pages = await readPages(list);
  expect(pages.flatMap(({ records }) => records)).toEqual(expected);
  expect(pages.map(({ page }) => page?.total)).toEqual(pages.map(() => String(expected.length)));
  expect(pages.length).toBe(Math.max(1, Math.ceil(expected.length / request.limit)));
}

const texts = (breakdown: Record<string, number>) =>
  Object.fromEntries(Object.entries(breakdown).map(([tier, sum]) => [tier, String(sum)]));

function expectedGroup({ groupBy }: UsageRequest, group: Counted, names: Map<string, string>): object {
  const sums = { totalCredits: String(group.credits), queryCount: String(group.queries), breakdownByModel: texts(group.breakdown) };
  if (groupBy === 'user') return { userId: group.key, ...sums, uniqueAgents: String(group.agents), lastUsedAt: group.last };
  if (groupBy === 'agent') return { agentId: group.key, ...sums, name: names.get(group.key), uniqueUsers: String(group.users) };
  const { week = '', month = '' } = periodOf(group.key as Day, groupBy as 'day');
  return { date: group.key, week, month, ...sums, uniqueUsers: String(group.users) };
}

async function checkGroups(tenant: Tenant, request: UsageRequest): Promise<void> {
  const { groupBy, limit } = request;
  const list = (cursor: string) =>
    asCaller(tenant, () => credits.gateway.aggregateUsage({ groupBy, filter: filterOf(request), page: { limit, cursor } }));
  const days = dayRange({ dateFrom: request.dateFrom || undefined, dateTo: request.dateTo || undefined }, clock.at);
  if (!days.ok) return await expect(list('')).rejects.toMatchObject({ code: 'invalid_request', param: days.param });
  const range = { from: startOfDay(days.from), before: startOfDay(days.to) + dayMs };
  const counted = await groupRecords(credits.url, tenant, request, range);
  const names = await namesByRecords(credits.url, tenant);
  const pages = await readPages(list);
  const groups = pages.flatMap(({ periods, users, agents }) => [...periods, ...users, ...agents]);
  expect(groups).toEqual(counted.map((group) => expectedGroup(request, group, names)));
  const sum = (of: 'credits' | 'queries') => String(counted.reduce((all, group) => all + group[of], 0));
  for (const { page, totalCredits, totalQueries, dateRange } of pages) {
    expect([page?.total, totalCredits, totalQueries]).toEqual([String(counted.length), sum('credits'), sum('queries')]);
    expect(dateRange).toEqual({ from: days.from, to: days.to });
  }
}

async function checkSummary(tenant: Tenant): Promise<void> {
  const days = dayRange({}, clock.at);
  if (!days.ok) throw new Error(days.message);
  const range = { from: startOfDay(days.from), before: startOfDay(days.to) + dayMs };
  const everyone = { userId: '', agentId: '', dateFrom: '', dateTo: '', limit: 10 };
  const agents = await groupRecords(credits.url, tenant, { ...everyone, groupBy: 'agent' }, range);
  const [month] = await groupRecords(credits.url, tenant, { ...everyone, groupBy: 'month' }, range);
  const names = await namesByRecords(credits.url, tenant);
  const { summary } = await asCaller(tenant, () => credits.gateway.summarizeUsage({}));
  expect(summary).toMatchObject({
    periodStart: new Date(range.from).toISOString(),
    periodEnd: new Date(range.before).toISOString(),
    totalCreditsUsed: String(month?.credits ?? 0),
    totalQueries: String(month?.queries ?? 0),
    activeUsers: String(month?.users ?? 0),
    mostUsedAgents: agents.map(({ key, credits: used, queries }) => ({
      agentId: key,
      name: names.get(key),
      creditsUsed: String(used),
      queryCount: String(queries),
    })),
  });
  const distribution = Object.entries(summary?.modelDistribution ?? {}).map(([tier, used]) => [tier, used.credits]);
  expect(Object.fromEntries(distribution)).toEqual(texts(month?.breakdown ?? {}));
}

test(
  'every read has the result of plain SQL over the records',
  async () => {
    let run = 0;
    const property = fc.asyncProperty(
      histories,
      histories,
      fc.array(usageRequests, { minLength: 12, maxLength: 20 }),
      fc.integer({ min: 0, max: 25 * dayMs }),
      async (live, tested, requests, later) => {
        run += 1;
        const organizationId = `org_${run}`;
        const tenants = [
          [{ organizationId, environment: 'live' }, live],
          [{ organizationId, environment: 'test' }, tested],
        ] as const;
        for (const [tenant, history] of tenants) {
          clock.at = history[0]?.at ?? 0;
          await grantCredits(credits, tenant);
          await useCredits(credits, clock, tenant, history);
        }
        clock.at = later + Math.max(...[...live, ...tested].map(({ at }) => at));
        for (const [tenant] of tenants) {
          await checkSummary(tenant);
          for (const request of requests) await (request.groupBy === '' ? checkRecords(tenant, request) : checkGroups(tenant, request));
        }
      },
    );
    await fc.assert(property, { numRuns: runs, interruptAfterTimeLimit: limitMs, markInterruptAsFailure: true });
    expect(await faultsOf(credits)).toEqual([]);
  },
  2 * limitMs,
);
