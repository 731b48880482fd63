import type { Client } from '@agent-service/contracts';
import { z } from 'zod';
import { listMeta, toListMeta } from './list-query.ts';

const credits = z.int().meta({ example: 120 });
const count = z.int().meta({ example: 40 });
const userCount = z.int().meta({ example: 3 });
const day = z.iso.date().meta({ example: '2026-01-05' });
const userId = z.string().meta({ example: 'usr_01jz0000000000000000000000' });
const agentId = z.string().meta({ example: 'agt_01jz0000000000000000000000' });
const agentName = z
  .string()
  .meta({ description: 'As it was at the agent’s last answer; kept beyond the agent’s life.', example: 'Sales analyst' });
const breakdown = z.record(z.string(), z.int()).meta({ description: 'Credits by model tier.', example: { Fast: 20, Smart: 100 } });

const usageRecord = z
  .strictObject({
    id: z.string().meta({ example: 'use_01jz0000000000000000000000' }),
    user_id: userId,
    agent_id: agentId,
    conversation_id: z.string().meta({ example: 'conv_01jz0000000000000000000000' }),
    credits_consumed: z.int().meta({ example: 2 }),
    model: z.string().meta({ example: 'Fast' }),
    query_summary: z.string().meta({
      description:
        'The beginning of the message. Empty in records of other users, unless the caller’s key has the administrator flag, or the caller is an application that acts for no person.',
      example: 'How much did we sell last month?',
    }),
    timestamp: z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' }),
  })
  .meta({ id: 'UsageRecord' });

const periodFields = { total_credits: credits, query_count: count, unique_users: userCount, breakdown_by_model: breakdown };

const usageOfDay = z.strictObject({ date: day, ...periodFields }).meta({ id: 'UsageOfDay' });
const usageOfWeek = z
  .strictObject({ date: day.meta({ description: 'Its Monday.' }), week: z.string().meta({ example: '2026-W02' }), ...periodFields })
  .meta({ id: 'UsageOfWeek' });
const usageOfMonth = z
  .strictObject({
    date: day.meta({ description: 'Its first day.', example: '2026-01-01' }),
    month: z.string().meta({ example: '2026-01' }),
    ...periodFields,
  })
  .meta({ id: 'UsageOfMonth' });

const usageOfUser = z
  .strictObject({
    user_id: userId,
    total_credits: credits,
    query_count: count,
    unique_agents: z.int().meta({ example: 1 }),
    breakdown_by_model: breakdown,
    last_used_at: z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' }),
  })
  .meta({ id: 'UsageOfUser' });

const usageOfAgent = z.strictObject({ agent_id: agentId, name: agentName, ...periodFields }).meta({ id: 'UsageOfAgent' });

const aggregateMeta = listMeta
  .extend({
    total_credits: z.int().meta({ description: 'The total of the whole range, not of the page.', example: 120 }),
    total_queries: z.int().meta({ description: 'The total of the whole range, not of the page.', example: 40 }),
    date_range: z
      .strictObject({ from: day.meta({ example: '2026-01-01' }), to: day.meta({ example: '2026-01-31' }) })
      .meta({ id: 'UsageDateRange', description: 'Days in UTC, both included.' }),
  })
  .meta({ id: 'UsageAggregateMeta' });

/** The response to a request that names no groups. */
const recordsExample = {
  data: [
    {
      id: 'use_01jz0000000000000000000000',
      user_id: 'usr_01jz0000000000000000000000',
      agent_id: 'agt_01jz0000000000000000000000',
      conversation_id: 'conv_01jz0000000000000000000000',
      credits_consumed: 2,
      model: 'Fast',
      query_summary: 'How much did we sell last month?',
      timestamp: '2026-01-31T10:00:00.000Z',
    },
  ],
  meta: { total: 1, next_cursor: null, request_id: '4f3c1f6e-0a55-4c1e-8c53-0a5fbb1e4f0d' },
};

/**
 * The responses of one path: groups by what `group_by` names, or records. A decoder that takes the first variant whose fields are present would
 * take weeks and months for days if these came first, and empty lists of groups for lists of records.
 */
export const usageResponse = z
  .union([
    z.strictObject({ data: z.array(usageOfWeek), meta: aggregateMeta }).meta({ id: 'UsageOfWeekList' }),
    z.strictObject({ data: z.array(usageOfMonth), meta: aggregateMeta }).meta({ id: 'UsageOfMonthList' }),
    z.strictObject({ data: z.array(usageOfDay), meta: aggregateMeta }).meta({ id: 'UsageOfDayList' }),
    z.strictObject({ data: z.array(usageOfUser), meta: aggregateMeta }).meta({ id: 'UsageOfUserList' }),
    z.strictObject({ data: z.array(usageOfAgent), meta: aggregateMeta }).meta({ id: 'UsageOfAgentList' }),
    z.strictObject({ data: z.array(usageRecord), meta: listMeta }).meta({ id: 'UsageRecordList' }),
  ])
  .meta({ example: recordsExample });

const mostUsedAgent = z
  .strictObject({ agent_id: agentId, name: agentName, credits_used: credits, query_count: count })
  .meta({ id: 'MostUsedAgent' });
const modelUse = z.strictObject({ credits, queries: count }).meta({ id: 'ModelUse' });

export const usageSummary = z
  .strictObject({
    billing_period: z
      .strictObject({
        start: z.iso.datetime().meta({ example: '2026-01-01T00:00:00.000Z' }),
        end: z.iso.datetime().meta({ description: 'Not included.', example: '2026-02-01T00:00:00.000Z' }),
      })
      .meta({ id: 'BillingPeriod' }),
    total_credits_used: credits,
    total_queries: count,
    active_users: userCount,
    most_used_agents: z.array(mostUsedAgent),
    model_distribution: z
      .record(z.string(), modelUse)
      .meta({ example: { Fast: { credits: 20, queries: 10 }, Smart: { credits: 100, queries: 30 } } }),
  })
  .meta({ id: 'UsageSummary' });

type Credits = Client<'credits'>;
type RecordMessage = Awaited<ReturnType<Credits['listUsage']>>['records'][number];
type AggregateMessage = Awaited<ReturnType<Credits['aggregateUsage']>>;
type SummaryMessage = NonNullable<Awaited<ReturnType<Credits['summarizeUsage']>>['summary']>;
type Sums = Pick<AggregateMessage['periods'][number], 'totalCredits' | 'queryCount' | 'breakdownByModel'>;

type GroupBy = 'day' | 'week' | 'month' | 'user' | 'agent';

/** Converts a record of credits to its public form. */
export const toUsageRecord = (message: RecordMessage): z.output<typeof usageRecord> => ({
  id: message.id,
  user_id: message.userId,
  agent_id: message.agentId,
  conversation_id: message.conversationId,
  credits_consumed: message.creditsConsumed,
  model: message.model,
  query_summary: message.querySummary,
  timestamp: message.timestamp,
});

/** Converts a page of groups of credits to its public form. */
export function toAggregate(groupBy: GroupBy, message: AggregateMessage, requestId: string): z.output<typeof usageResponse> {
  const { from = '', to = '' } = message.dateRange ?? {};
  const meta = {
    ...toListMeta(message.page, requestId),
    total_credits: Number(message.totalCredits),
    total_queries: Number(message.totalQueries),
    date_range: { from, to },
  };
  switch (groupBy) {
    case 'day':
      return { data: message.periods.map((period) => ({ date: period.date, ...toPeriod(period) })), meta };
    case 'week':
      return { data: message.periods.map((period) => ({ date: period.date, week: period.week, ...toPeriod(period) })), meta };
    case 'month':
      return { data: message.periods.map((period) => ({ date: period.date, month: period.month, ...toPeriod(period) })), meta };
    case 'user':
      return { data: message.users.map(toUser), meta };
    case 'agent':
      return { data: message.agents.map((agent) => ({ agent_id: agent.agentId, name: agent.name, ...toPeriod(agent) })), meta };
  }
}

/** Services send counts as text, because a 64-bit integer may exceed JavaScript's safe integers. */
const toNumbers = (counts: Sums['breakdownByModel']) =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Number(count)]));

const toSums = ({ totalCredits, queryCount, breakdownByModel }: Sums) => ({
  total_credits: Number(totalCredits),
  query_count: Number(queryCount),
  breakdown_by_model: toNumbers(breakdownByModel),
});

const toPeriod = (group: Sums & { uniqueUsers: string }) => ({ ...toSums(group), unique_users: Number(group.uniqueUsers) });

const toUser = (user: AggregateMessage['users'][number]) => ({
  user_id: user.userId,
  ...toSums(user),
  unique_agents: Number(user.uniqueAgents),
  last_used_at: user.lastUsedAt,
});

export const toUsageSummary = (message: SummaryMessage): z.output<typeof usageSummary> => ({
  billing_period: { start: message.periodStart, end: message.periodEnd },
  total_credits_used: Number(message.totalCreditsUsed),
  total_queries: Number(message.totalQueries),
  active_users: Number(message.activeUsers),
  most_used_agents: message.mostUsedAgents.map(({ agentId, name, creditsUsed, queryCount }) => ({
    agent_id: agentId,
    name,
    credits_used: Number(creditsUsed),
    query_count: Number(queryCount),
  })),
  model_distribution: Object.fromEntries(
    Object.entries(message.modelDistribution).map(([tier, { credits, queries }]) => [
      tier,
      { credits: Number(credits), queries: Number(queries) },
    ]),
  ),
});
