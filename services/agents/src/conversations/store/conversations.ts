import { type Page, parameters, type Sql } from '@agent-service/store';
import { defineEntity, environment, migratedIndex, p, timestamp } from '@agent-service/store/entities';
import type { Reader } from './messages.ts';

/** Counters and the time count an answer from its acceptance on, so that a list and its total agree while it is pending. */
export const ConversationEntity = defineEntity({
  name: 'Conversation',
  tableName: 'conversations',
  indexes: [migratedIndex('conversations_listed_index')],
  checks: [
    { name: 'conversations_message_count_check', property: 'messageCount', expression: 'message_count >= 0' },
    { name: 'conversations_total_credits_check', property: 'totalCredits', expression: 'total_credits >= 0' },
  ],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    id: p.text().primary(),
    agentId: p.text(),
    userId: p.text(),
    messageCount: p.integer(),
    totalCredits: p.bigint('number').defaultRaw('0'),
    createdAt: timestamp(),
    lastMessageAt: timestamp(),
  },
});

export const ConversationCountEntity = defineEntity({
  name: 'ConversationCount',
  tableName: 'conversation_counts',
  checks: [{ name: 'conversation_counts_count_check', property: 'count', expression: 'count >= 0' }],
  properties: {
    organizationId: p.text().primary(),
    environment: p.text().primary(),
    agentId: p.text().primary(),
    userId: p.text().primary(),
    count: p.bigint('number'),
  },
});

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

export interface ConversationRow {
  id: string;
  agentId: string;
  messageCount: number;
  totalCredits: string;
  createdAt: string;
  lastMessageAt: string;
}

export interface ConversationList {
  readonly rows: readonly ConversationRow[];
  readonly total: number;
}

const columns = `id, agent_id as "agentId", message_count as "messageCount", total_credits as "totalCredits", created_at as "createdAt",
  last_message_at as "lastMessageAt"`;

/** Latest first, with one row more than the limit where there is another page; undefined where the agent does not exist. */
export async function selectConversations(
  sql: Sql,
  { tenant, agentId, userId }: Reader,
  limit: number,
  start?: Page,
): Promise<ConversationList | undefined> {
  const query = parameters();
  const own = `organization_id = ${query.add(tenant.organizationId)} and environment = ${query.add(tenant.environment)}`;
  const agent = query.add(agentId);
  const mine = `${own} and agent_id = ${agent} and user_id = ${query.add(userId)}`;
  const afterCursor = start
    ? `and (last_message_at, id) < (${query.add(start.after[0])}::timestamptz, ${query.add(start.after[1])}::text)`
    : '';
  const rows = await sql<Partial<ConversationRow> & { total: string }>(
    `select coalesce((select count from conversation_counts where ${mine}), 0) as total, page.*
     from (select 1 from agents where ${own} and id = ${agent}) as agent
     left join (select ${columns} from conversations where ${mine} ${afterCursor}
       order by last_message_at desc, id desc limit ${query.add(limit + 1)}::integer) as page on true
     order by page."lastMessageAt" desc, page.id desc`,
    query.values,
  );
  if (rows.length === 0) return undefined;
  const conversations = rows.filter((row) => row.id !== null);
  return { rows: conversations.map(({ total: _, ...row }) => row as ConversationRow), total: Number(rows[0]?.total) };
}
