import { type Page, parameters, type Sql } from '@agent-service/store';
import type { Reader } from './messages.ts';

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
