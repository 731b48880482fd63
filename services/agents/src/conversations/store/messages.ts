import { type Page, type Parameters, parameters, type Sql } from '@agent-service/store';
import { timeOf } from '../../answers/domain/message-id.ts';
import type { Tenant } from '../../shared/tenant.ts';

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
  queries: { statement: string; tables: string[]; rows: number; durationMs: number }[] | null;
  createdAt: string;
}

/** Whose messages: those of one user with one agent. */
export interface Reader {
  readonly tenant: Tenant;
  readonly agentId: string;
  readonly userId: string;
}

export interface ListedMessages {
  readonly rows: readonly MessageRow[];
  readonly total: number;
}

// Two places, one shape: what was said, and the answer that is still being worked on. Every statement here reads both in one snapshot,
// so that an answer that ends meanwhile is in one of them and never in none or in both.
const said = `select m.id, m.conversation_id as "conversationId", m.agent_id as "agentId", m.role, m.content, m.content_type as "contentType",
    m.credits, m.tier, m.status, m.failure_code as "failureCode", m.failure_message as "failureMessage", m.queries, m.created_at as "createdAt"
  from messages m`;
const pending = `select a.id, a.conversation_id, a.agent_id, 'assistant', '', 'markdown', 0, a.tier,
    case when a.state in ('waiting', 'dispatched') then 'queued' else 'running' end, '', '', null::jsonb, a.accepted_at
  from answers a`;

const one = `
  with living as (select 1 from agents where organization_id = $1 and environment = $2 and id = $3)
  ${said} where exists (select 1 from living) and m.organization_id = $1 and m.environment = $2 and m.id = $5
    and m.created_at = $6::timestamptz and m.agent_id = $3 and m.user_id = $4
  union all
  ${pending} where exists (select 1 from living) and a.organization_id = $1 and a.environment = $2 and a.id = $5
    and a.state <> 'releasing' and a.agent_id = $3 and a.user_id = $4`;

/** Undefined for what there is not, and for what is somebody else's. */
export async function findMessage(sql: Sql, { tenant, agentId, userId }: Reader, id: string): Promise<MessageRow | undefined> {
  const at = timeOf(id);
  if (at === undefined) return undefined;
  const [row] = await sql<MessageRow>(one, [tenant.organizationId, tenant.environment, agentId, userId, id, new Date(at).toISOString()]);
  return row;
}

/** Newest first, with one row more than asked for where there is a further page; undefined where the conversation is not the reader's. */
export async function listMessages(
  sql: Sql,
  reader: Reader,
  conversationId: string,
  limit: number,
  start?: Page,
): Promise<ListedMessages | undefined> {
  const given = parameters();
  const rows = await sql<Partial<MessageRow> & { total: number }>(statementOf(reader, conversationId, limit, start, given), given.values);
  if (rows.length === 0) return undefined;
  const found = rows.filter((row) => row.id !== null);
  return { rows: found.map(({ total: _, ...row }) => row as MessageRow), total: rows[0]?.total ?? 0 };
}

function statementOf(
  { tenant, agentId, userId }: Reader,
  conversationId: string,
  limit: number,
  start: Page | undefined,
  given: Parameters,
): string {
  const [at, id] = start ? [`${given.add(start.after[0])}::timestamptz`, `${given.add(start.after[1])}::text`] : ['', ''];
  // The second condition says nothing new, but keeps later partitions out.
  const behind = (time: string, key: string) => (start ? `and (${time}, ${key}) < (${at}, ${id}) and ${time} <= ${at}` : '');
  const rest = `order by "createdAt" desc, id desc limit ${given.add(limit + 1)}::integer`;
  const own = 'organization_id = c.organization_id and {}.environment = c.environment and {}.conversation_id = c.id';
  const of = (alias: string) => `${alias}.${own.replaceAll('{}', alias)}`;
  // Ids are made by several clocks, so a message may be a little older than its conversation; earlier partitions stay out.
  return `
    select c.message_count as total, page.* from conversations c
    join agents agent on agent.organization_id = c.organization_id and agent.environment = c.environment and agent.id = c.agent_id
    left join lateral (
      (${said} where ${of('m')} and m.created_at >= c.created_at - interval '5 minutes' ${behind('m.created_at', 'm.id')}
       order by m.created_at desc, m.id desc limit ${given.add(limit + 1)}::integer)
      union all
      (${pending} where ${of('a').replace('conversation_id', 'conversation_id collate "C"')} and a.state <> 'releasing' ${behind('a.accepted_at', 'a.id')})
      ${rest}) as page on true
    where c.organization_id = ${given.add(tenant.organizationId)} and c.environment = ${given.add(tenant.environment)}
      and c.id = ${given.add(conversationId)} and c.agent_id = ${given.add(agentId)} and c.user_id = ${given.add(userId)}
    order by page."createdAt" desc, page.id desc`;
}
