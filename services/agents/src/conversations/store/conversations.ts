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

export interface ListedConversations {
  readonly rows: readonly ConversationRow[];
  readonly total: number;
}

const columns = `id, agent_id as "agentId", message_count as "messageCount", total_credits as "totalCredits", created_at as "createdAt",
  last_message_at as "lastMessageAt"`;

/** The latest first, with one row more than asked for where there is a further page; undefined where there is no such agent. */
export async function listConversations(
  sql: Sql,
  { tenant, agentId, userId }: Reader,
  limit: number,
  start?: Page,
): Promise<ListedConversations | undefined> {
  const given = parameters();
  const own = `organization_id = ${given.add(tenant.organizationId)} and environment = ${given.add(tenant.environment)}`;
  const agent = given.add(agentId);
  const mine = `${own} and agent_id = ${agent} and user_id = ${given.add(userId)}`;
  const behind = start ? `and (last_message_at, id) < (${given.add(start.after[0])}::timestamptz, ${given.add(start.after[1])}::text)` : '';
  const rows = await sql<Partial<ConversationRow> & { total: string }>(
    `select coalesce((select count from conversation_counts where ${mine}), 0) as total, page.*
     from (select 1 from agents where ${own} and id = ${agent}) as living
     left join (select ${columns} from conversations where ${mine} ${behind}
       order by last_message_at desc, id desc limit ${given.add(limit + 1)}::integer) as page on true
     order by page."lastMessageAt" desc, page.id desc`,
    given.values,
  );
  if (rows.length === 0) return undefined;
  const found = rows.filter((row) => row.id !== null);
  return { rows: found.map(({ total: _, ...row }) => row as ConversationRow), total: Number(rows[0]?.total) };
}
