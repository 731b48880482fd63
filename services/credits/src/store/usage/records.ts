import { isoTime, type Parameters, parameters, type Sql } from '@agent-service/store';
import { type RecordRange, type Span, splitRange } from '../../domain/usage.ts';
import { inScope, tierTotals, type UsageScope } from './totals.ts';

export interface UsageRow {
  id: string;
  userId: string;
  agentId: string;
  conversationId: string;
  credits: number;
  tier: string;
  querySummary: string;
  at: string;
}

const columns = `record.id, record.user_id as "userId", record.agent_id as "agentId", record.conversation_id as "conversationId",
  record.credits, record.tier, record.query_summary as "querySummary", record.at`;

/** The last record of the page before. */
export type RecordAfter = readonly [at: string, id: string];

/** Newest first. One row more than the limit shows that another page follows. */
export function listRecords(
  sql: Sql,
  scope: UsageScope,
  { from, before }: Pick<RecordRange, 'from' | 'before'>,
  limit: number,
  after?: RecordAfter,
): Promise<UsageRow[]> {
  const params = parameters();
  const where = [inScope(scope, params)('record')];
  if (from !== null) where.push(`record.at >= ${params.add(isoTime(from))}::timestamptz`);
  if (before !== null) where.push(`record.at < ${params.add(isoTime(before))}::timestamptz`);
  if (after) {
    const at = `${params.add(after[0])}::timestamptz`;
    // The second condition follows from the first, but lets the planner skip later partitions.
    where.push(`(record.at, record.id) < (${at}, ${params.add(after[1])}::text) and record.at <= ${at}`);
  }
  const records = (more: string) => `select ${columns} from usage_records as record where ${where.join(' and ')} ${more}`;
  const page = `order by at desc, id desc limit ${params.add(limit + 1)}::integer`;
  if (scope.userId === '' || scope.agentId === '') return sql<UsageRow>(records(page), params.values);
  const latest = after ? after[0] : before === null ? 'infinity' : isoTime(before);
  return sql<UsageRow>(recordsOfUserAndAgent(scope, params, records, page, latest, limit), params.values);
}

/**
 * No index has user and agent, but the rollup has the days of their records. Reads as many days back as it takes to fill the page, each
 * with the user's index. The latest day may be partly outside the range and does not count.
 */
function recordsOfUserAndAgent(
  scope: UsageScope,
  params: Parameters,
  records: (more: string) => string,
  page: string,
  latest: string,
  limit: number,
): string {
  const [day, pageSize] = [`${params.add(latest)}::timestamptz::date`, `${params.add(limit)}::integer`];
  const onDay = `and record.at >= days.day::timestamptz and record.at < (days.day + 1)::timestamptz`;
  return `
    with days as materialized (
      select day, coalesce(sum(sum(queries) filter (where day < ${day})) over (order by day desc), 0)
        - coalesce(sum(queries) filter (where day < ${day}), 0) as later
      from usage_by_user_agent as kept where ${inScope(scope, params)('kept')} and kept.day <= ${day} group by day
    )
    select found.* from days cross join lateral (${records(onDay)}) as found where days.later <= ${pageSize} ${page}`;
}

/** The number of records in the range: whole days come from the rollups, and only the rest is counted. */
export async function countUsage(sql: Sql, scope: UsageScope, range: Pick<RecordRange, 'from' | 'before'>): Promise<number> {
  const { days, edges } = splitRange(range);
  const [totals, ...counts] = await Promise.all([
    days ? tierTotals(sql, scope, { from: days.from ?? '-infinity', to: days.to ?? 'infinity' }) : [],
    ...edges.map((edge) => countRecords(sql, scope, edge)),
  ]);
  return [...counts, ...totals.map(({ queries }) => queries)].reduce((sum, count) => sum + count, 0);
}

async function countRecords(sql: Sql, scope: UsageScope, { from, before }: Span): Promise<number> {
  const params = parameters();
  const [row] = await sql<{ records: string }>(
    `select count(*) as records from usage_records as record
     where ${inScope(scope, params)('record')} and record.at >= ${params.add(isoTime(from))}::timestamptz
       and record.at < ${params.add(isoTime(before))}::timestamptz`,
    params.values,
  );
  return Number(row?.records);
}
