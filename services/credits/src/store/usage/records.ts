import { type Parameters, parameters, type Sql } from '@agent-service/store';
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

/** Where a page begins: behind this record. */
export type RecordAfter = readonly [at: string, id: string];

const isoTime = (at: number) => new Date(at).toISOString();

/** Newest first; one row more than asked for tells that there is a further page. */
export function listRecords(
  sql: Sql,
  scope: UsageScope,
  { from, until }: Pick<RecordRange, 'from' | 'until'>,
  limit: number,
  after?: RecordAfter,
): Promise<UsageRow[]> {
  const given = parameters();
  const where = [inScope(scope, given)('record')];
  if (from !== null) where.push(`record.at >= ${given.add(isoTime(from))}::timestamptz`);
  if (until !== null) where.push(`record.at < ${given.add(isoTime(until))}::timestamptz`);
  if (after) {
    const at = `${given.add(after[0])}::timestamptz`;
    // The second condition says nothing new, but keeps later partitions out.
    where.push(`(record.at, record.id) < (${at}, ${given.add(after[1])}::text) and record.at <= ${at}`);
  }
  const records = (more: string) => `select ${columns} from usage_records as record where ${where.join(' and ')} ${more}`;
  const page = `order by at desc, id desc limit ${given.add(limit + 1)}::integer`;
  if (scope.userId === '' || scope.agentId === '') return sql<UsageRow>(records(page), given.values);
  const latest = after ? after[0] : until === null ? 'infinity' : isoTime(until);
  return sql<UsageRow>(ofUserAndAgent(scope, given, records, page, latest, limit), given.values);
}

/**
 * No index leads to the records of one user with one agent, but the rollup tells on which days they lie: as many days back
 * as fill the page are read, each along the user's index. The latest day may lie partly outside and so does not count.
 */
function ofUserAndAgent(
  scope: UsageScope,
  given: Parameters,
  records: (more: string) => string,
  page: string,
  latest: string,
  limit: number,
): string {
  const scoped = inScope(scope, given);
  const [day, enough] = [`${given.add(latest)}::timestamptz::date`, `${given.add(limit)}::integer`];
  const onDay = `and record.at >= days.day::timestamptz and record.at < (days.day + 1)::timestamptz`;
  return `
    with days as materialized (
      select day, coalesce(sum(sum(queries) filter (where day < ${day})) over (order by day desc), 0)
        - coalesce(sum(queries) filter (where day < ${day}), 0) as later
      from usage_by_user_agent as kept where ${scoped('kept')} and kept.day <= ${day} group by day
    )
    select found.* from days cross join lateral (${records(onDay)}) as found where days.later <= ${enough} ${page}`;
}

/** How many records there are in the range: whole days from the rollups, and only the rest of two days is counted. */
export async function countUsage(sql: Sql, scope: UsageScope, range: Pick<RecordRange, 'from' | 'until'>): Promise<number> {
  const { days, edges } = splitRange(range);
  const parts = edges.map((edge) => countRecords(sql, scope, edge));
  if (days) parts.push(countDays(sql, scope, days.from ?? '-infinity', days.to ?? 'infinity'));
  return (await Promise.all(parts)).reduce((sum, part) => sum + part, 0);
}

async function countDays(sql: Sql, scope: UsageScope, from: string, to: string): Promise<number> {
  const totals = await tierTotals(sql, scope, { from, to });
  return totals.reduce((sum, { queries }) => sum + queries, 0);
}

async function countRecords(sql: Sql, scope: UsageScope, { from, until }: Span): Promise<number> {
  const given = parameters();
  const [row] = await sql<{ records: string }>(
    `select count(*) as records from usage_records as record
     where ${inScope(scope, given)('record')} and record.at >= ${given.add(isoTime(from))}::timestamptz
       and record.at < ${given.add(isoTime(until))}::timestamptz`,
    given.values,
  );
  return Number(row?.records);
}
