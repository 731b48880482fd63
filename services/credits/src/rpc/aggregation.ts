import type { Sql } from '@agent-service/store';
import type { Days, UsageScope } from '../store/usage-scope.ts';

export interface AggregateOptions {
  scope: UsageScope;
  days: Days;
  limit: number;
  /** The sort key of the last entry of the page before; empty for the first page. */
  after: readonly (string | number)[];
}

interface PeriodMessage {
  date: string;
  week?: string;
  month?: string;
  totalCredits: number;
  queryCount: number;
  uniqueUsers: number;
  breakdownByModel: Record<string, number>;
}

interface UserMessage {
  userId: string;
  totalCredits: number;
  queryCount: number;
  uniqueAgents: number;
  breakdownByModel: Record<string, number>;
  lastUsedAt: string;
}

interface AgentMessage {
  agentId: string;
  name: string;
  totalCredits: number;
  queryCount: number;
  uniqueUsers: number;
  breakdownByModel: Record<string, number>;
}

/** One page of groups, with the totals of the whole range. */
export interface Aggregation {
  periods?: PeriodMessage[];
  users?: UserMessage[];
  agents?: AgentMessage[];
  totalCredits: number;
  totalQueries: number;
  /** How many groups there are. */
  total: number;
  /** The sort key of the last entry, where a further page follows. */
  last: (string | number)[] | undefined;
}

export type Aggregate = (sql: Sql, options: AggregateOptions) => Promise<Aggregation>;
