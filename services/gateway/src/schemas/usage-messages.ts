import type { z } from 'zod';
import { toListMeta } from './paging.ts';
import type { usageAnswer, usageRecord, usageSummary } from './usage.ts';

/** Counts travel as text, because they may be larger than what JavaScript counts in on every platform. */
type Counts = Record<string, string>;

interface RecordMessage {
  id: string;
  userId: string;
  agentId: string;
  conversationId: string;
  creditsConsumed: number;
  model: string;
  querySummary: string;
  timestamp: string;
}

interface Sums {
  totalCredits: string;
  queryCount: string;
  breakdownByModel: Counts;
}

interface PageMessage {
  total: string;
  nextCursor: string;
}

export interface AggregateMessage {
  periods: (Sums & { date: string; week: string; month: string; uniqueUsers: string })[];
  users: (Sums & { userId: string; uniqueAgents: string; lastUsedAt: string })[];
  agents: (Sums & { agentId: string; name: string; uniqueUsers: string })[];
  totalCredits: string;
  totalQueries: string;
  dateRange: { from: string; to: string } | null;
  page: PageMessage | null;
}

export type GroupBy = 'day' | 'week' | 'month' | 'user' | 'agent';

/** A record as credits returns it, as callers see it. */
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

/** A page of groups as credits returns it, as callers see it. */
export function toAggregate(groupBy: GroupBy, message: AggregateMessage, requestId: string): z.output<typeof usageAnswer> {
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

const toNumbers = (counts: Counts) => Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Number(count)]));

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

export interface SummaryMessage {
  periodStart: string;
  periodEnd: string;
  totalCreditsUsed: string;
  totalQueries: string;
  activeUsers: string;
  mostUsedAgents: { agentId: string; name: string; creditsUsed: string; queryCount: string }[];
  modelDistribution: Record<string, { credits: string; queries: string }>;
}

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
