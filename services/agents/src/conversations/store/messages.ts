import type { AnswerMessage, AnswerRecord, Tenant } from '@agent-service/contracts';
import { type Page, type Parameters, parameters, type Sql } from '@agent-service/store';
import { defineEntity, environment, migratedIndex, p, timestamp } from '@agent-service/store/entities';
import { endedColumns, pendingColumns, select, timeOf } from '../../shared/answer.ts';

/** Partitioned by createdAt, the millisecond in the id. An answer's message is written when the answer ends. */
export const MessageEntity = defineEntity({
  name: 'Message',
  tableName: 'messages',
  indexes: [migratedIndex('messages_conversation_index')],
  checks: [
    { name: 'messages_credits_check', property: 'credits', expression: 'credits >= 0' },
    { name: 'messages_charged_when_completed', expression: "credits = 0 or status = 'completed'" },
  ],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    id: p.text().primary(),
    createdAt: timestamp().primary(),
    conversationId: p.text(),
    agentId: p.text(),
    userId: p.text(),
    role: p.enum(['user', 'assistant'] as const),
    content: p.text(),
    contentType: p.enum(['markdown', 'text'] as const).default('markdown'),
    status: p.enum(['completed', 'failed', 'cancelled'] as const),
    tier: p.text().default(''),
    credits: p.integer().default(0),
    attempt: p.integer().default(0),
    failureCode: p.text().default(''),
    failureMessage: p.text().default(''),
    queries: p.json<unknown>().nullable(),
    record: p.json<unknown>().nullable(),
  },
});

export interface MessageRow {
  id: string;
  conversationId: string;
  agentId: string;
  role: 'user' | 'assistant';
  content: string;
  contentType: string;
  credits: number;
  tier: string;
  status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';
  failureCode: string;
  failureMessage: string;
  queries: AnswerMessage['queries'] | null;
  record: (Omit<AnswerRecord, 'steps'> & Partial<AnswerRecord>) | null;
  createdAt: string;
}

/** Messages of one user with one agent. */
export interface Reader {
  readonly tenant: Tenant;
  readonly agentId: string;
  readonly userId: string;
}

export interface MessageList {
  readonly rows: readonly MessageRow[];
  readonly total: number;
  readonly hasMore: boolean;
}

/** A page ends with the first message that goes beyond: a hundred of the longest answers would be 400 MB in the memory of this process. */
const maxPageBytes = 2 * 1024 * 1024;

// Finished messages and unfinished answers are two tables with one shape. Every statement here reads both in one snapshot, so that an
// answer that ends in the meantime is in exactly one of them.
const finishedWith = (record: string) =>
  `select ${select({ ...endedColumns('m'), record, role: 'm.role', createdAt: 'm.created_at' })} from messages m`;
const finished = finishedWith('m.record');
/** A page has up to 100 messages, so it leaves the steps to those who read one message. */
const listed = finishedWith(`m.record - 'steps'`);
const pending = `select ${select({ ...pendingColumns('a'), record: 'null::jsonb', role: `'assistant'`, createdAt: 'a.accepted_at' })} from answers a`;

// The look-up of the conversation has a limit, so that the planner uses its key: an anti join would read all conversations of the tenant.
const oneMessage = `
  with living as (select 1 from agents where organization_id = $1 and environment = $2 and id = $3)
  ${finished} where exists (select 1 from living) and m.organization_id = $1 and m.environment = $2 and m.id = $5
    and m.created_at = $6::timestamptz and m.agent_id = $3 and m.user_id = $4
    and (select c.deleted_at from conversations c where c.organization_id = $1 and c.environment = $2 and c.id = m.conversation_id limit 1)
      is null
  union all
  ${pending} where exists (select 1 from living) and a.organization_id = $1 and a.environment = $2 and a.id = $5
    and a.state <> 'releasing' and a.agent_id = $3 and a.user_id = $4`;

/** Undefined where the message does not exist or is another user's. */
export async function findMessage(sql: Sql, { tenant, agentId, userId }: Reader, id: string): Promise<MessageRow | undefined> {
  const at = timeOf(id);
  if (at === undefined) return undefined;
  const [row] = await sql<MessageRow>(oneMessage, [
    tenant.organizationId,
    tenant.environment,
    agentId,
    userId,
    id,
    new Date(at).toISOString(),
  ]);
  return row;
}

/** Newest first, and fewer than the limit where they are long; undefined where the conversation is not the reader's. */
export async function selectMessages(
  sql: Sql,
  reader: Reader,
  conversationId: string,
  limit: number,
  start?: Page,
): Promise<MessageList | undefined> {
  const query = parameters();
  const statement = statementOf(reader, conversationId, limit, start, query);
  const rows = await sql<Partial<MessageRow> & { total: number; matches: number; bytes: number }>(statement, query.values);
  const [first] = rows;
  if (first === undefined) return undefined;
  const messages = rows.filter((row) => row.id !== null).slice(0, limit);
  return {
    rows: messages.map(({ total: _total, matches: _matches, bytes: _bytes, ...row }) => row as MessageRow),
    total: first.total,
    hasMore: first.id !== null && first.matches > messages.length,
  };
}

function statementOf(
  { tenant, agentId, userId }: Reader,
  conversationId: string,
  limit: number,
  start: Page | undefined,
  query: Parameters,
): string {
  const [at, id] = start ? [`${query.add(start.after[0])}::timestamptz`, `${query.add(start.after[1])}::text`] : ['', ''];
  // The second condition only excludes later partitions.
  const behind = (time: string, key: string) => (start ? `and (${time}, ${key}) < (${at}, ${id}) and ${time} <= ${at}` : '');
  const newestFirst = 'order by "createdAt" desc, id desc';
  const rest = `${newestFirst} limit ${query.add(limit + 1)}::integer`;
  const own = 'organization_id = c.organization_id and {}.environment = c.environment and {}.conversation_id = c.id';
  const of = (alias: string) => `${alias}.${own.replaceAll('{}', alias)}`;
  // The text of the queries is counted, because pg_column_size of a stored column is that of its compressed form.
  // Several clocks make ids, so a message may be a little older than its conversation. The margin excludes earlier partitions.
  return `
    select c.message_count as total, sized.* from conversations c
    join agents agent on agent.organization_id = c.organization_id and agent.environment = c.environment and agent.id = c.agent_id
    left join lateral (select page.*, count(*) over ()::integer as matches,
      sum(octet_length(content) + coalesce(pg_column_size(record), 0) + coalesce(octet_length(queries::text), 0))
        over (${newestFirst} rows between unbounded preceding and 1 preceding)::integer as bytes
      from (
      (${listed} where ${of('m')} and m.created_at >= c.created_at - interval '5 minutes' ${behind('m.created_at', 'm.id')}
       order by m.created_at desc, m.id desc limit ${query.add(limit + 1)}::integer)
      union all
      (${pending} where ${of('a').replace('conversation_id', 'conversation_id collate "C"')} and a.state <> 'releasing' ${behind('a.accepted_at', 'a.id')})
      ${rest}) as page) as sized on coalesce(sized.bytes, 0) <= ${maxPageBytes}
    where c.organization_id = ${query.add(tenant.organizationId)} and c.environment = ${query.add(tenant.environment)}
      and c.id = ${query.add(conversationId)} and (c.agent_id, c.user_id) is not distinct from (${query.add(agentId)}, ${query.add(userId)})
      and c.deleted_at is null
    order by sized."createdAt" desc, sized.id desc`;
}

export const messageStatements = { oneMessage };
