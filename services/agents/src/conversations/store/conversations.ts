import { type Page, parameters, type Sql } from '@agent-service/store';
import { defineEntity, environment, migratedIndex, p, timestamp } from '@agent-service/store/entities';
import type { Reader } from './messages.ts';

/** Counters and the time count an answer from its acceptance on, so that a list and its total agree while it is pending. */
export const ConversationEntity = defineEntity({
  name: 'Conversation',
  tableName: 'conversations',
  indexes: [migratedIndex('conversations_listed_index'), migratedIndex('conversations_deleted_index')],
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
    title: p.text().default(''),
    /** Set from its deletion until its messages are removed. */
    deletedAt: timestamp().nullable(),
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

export interface ConversationRow {
  id: string;
  agentId: string;
  messageCount: number;
  totalCredits: string;
  createdAt: string;
  lastMessageAt: string;
  title: string;
}

export interface ConversationList {
  readonly rows: readonly ConversationRow[];
  readonly total: number;
}

const columns = `id, agent_id as "agentId", message_count as "messageCount", total_credits as "totalCredits", created_at as "createdAt",
  last_message_at as "lastMessageAt", title`;

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
     left join (select ${columns} from conversations where ${mine} and deleted_at is null ${afterCursor}
       order by last_message_at desc, id desc limit ${query.add(limit + 1)}::integer) as page on true
     order by page."lastMessageAt" desc, page.id desc`,
    query.values,
  );
  if (rows.length === 0) return undefined;
  const conversations = rows.filter((row) => row.id !== null);
  return { rows: conversations.map(({ total: _, ...row }) => row as ConversationRow), total: Number(rows[0]?.total) };
}

// The reader is compared so that no index serves it: by that of the list the planner would look through all conversations of the reader.
const ofReader = `organization_id = $1 and environment = $2 and id = $3 and (agent_id, user_id) is not distinct from ($4, $5) and deleted_at is null
  and exists (select 1 from agents where organization_id = $1 and environment = $2 and id = $4)`;

const valuesOf = ({ tenant, agentId, userId }: Reader, id: string) => [tenant.organizationId, tenant.environment, id, agentId, userId];

const findOne = `select ${columns} from conversations where ${ofReader}`;

/** Undefined where the conversation does not exist, was deleted or is another user's. */
export async function findConversation(sql: Sql, reader: Reader, id: string): Promise<ConversationRow | undefined> {
  return (await sql<ConversationRow>(findOne, valuesOf(reader, id)))[0];
}

const setTitle = `update conversations set title = $6 where ${ofReader} returning ${columns}`;

export async function renameConversation(sql: Sql, reader: Reader, id: string, title: string): Promise<ConversationRow | undefined> {
  return (await sql<ConversationRow>(setTitle, [...valuesOf(reader, id), title]))[0];
}

const markDeleted = `update conversations set deleted_at = now() where ${ofReader} returning 1`;
const hasPending = `
  select 1 from answers where conversation_id collate "C" = $3 and organization_id collate "C" = $1 and environment collate "C" = $2
    and state <> 'releasing' limit 1`;
const discount = `
  update conversation_counts set count = greatest(count - 1, 0) where organization_id = $1 and environment = $2 and agent_id = $3 and user_id = $4`;

/**
 * Hides the conversation from its caller, unless an answer in it is pending. The caller rolls back every other outcome: the counter is locked
 * before the conversation, as an acceptance locks them.
 */
export async function markConversationDeleted(sql: Sql, reader: Reader, id: string): Promise<'deleted' | 'busy' | 'unknown'> {
  const { tenant, agentId, userId } = reader;
  await sql(discount, [tenant.organizationId, tenant.environment, agentId, userId]);
  if ((await sql(markDeleted, valuesOf(reader, id))).length === 0) return 'unknown';
  const pending = await sql(hasPending, [tenant.organizationId, tenant.environment, id]);
  return pending.length > 0 ? 'busy' : 'deleted';
}

export const conversationStatements = { findConversation: findOne, renameConversation: setTitle, markDeleted, hasPending, discount };
