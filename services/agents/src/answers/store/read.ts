import type { Sql } from '@agent-service/store';
import { type AnswerKey, keyItem } from '../key.ts';
import type { QueryRecord } from './complete.ts';
import { at, keyColumns, milliseconds, sameKey, sought } from './text.ts';

/** An answer as its readers see it, pending or ended. */
export interface ReadRow extends AnswerKey {
  n: number;
  conversationId: string;
  agentId: string;
  userId: string;
  content: string;
  contentType: string;
  tier: string;
  credits: number;
  status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';
  attempt: number;
  failureCode: string;
  failureMessage: string;
  queries: QueryRecord[] | null;
  createdAt: number;
}

// One snapshot over both places, so that an answer that ends meanwhile is in one of them and never in none.
const statement = `
  with ${sought(`n integer, ${keyColumns}, created_at float8`)}
  select i.n, a.organization_id as "organizationId", a.environment, a.id, a.conversation_id as "conversationId", a.agent_id as "agentId",
    a.user_id as "userId", '' as content, 'markdown' as "contentType", a.tier, 0 as credits,
    case when a.state in ('waiting', 'dispatched') then 'queued' else 'running' end as status, a.attempt,
    '' as "failureCode", '' as "failureMessage", null::jsonb as queries, ${milliseconds('a.accepted_at')} as "createdAt"
  from items i join answers a on ${sameKey('a', 'i')} where a.state <> 'releasing'
  union all
  select i.n, m.organization_id, m.environment, m.id, m.conversation_id, m.agent_id, m.user_id, m.content, m.content_type, m.tier, m.credits,
    m.status, m.attempt, m.failure_code, m.failure_message, m.queries, ${milliseconds('m.created_at')}
  from items i cross join lateral (
    select * from messages said where ${sameKey('said', 'i')} and said.created_at = ${at('i.created_at')} and said.role = 'assistant'
    limit 1) m`;

/** How answers stand; those that there are not are missing. */
export const readAnswers = (sql: Sql, keys: readonly (AnswerKey & { createdAt: number })[]): Promise<ReadRow[]> =>
  sql<ReadRow>(statement, [JSON.stringify(keys.map((key, n) => ({ n, ...keyItem(key), created_at: key.createdAt })))]);

const mostChannels = 20;

const attach = `
  with ${sought(`${keyColumns}, reply_channel text, stream boolean`)},
  found as materialized (
    select i.* from items i join answers a on ${sameKey('a', 'i')} where a.state <> 'releasing'
    order by a.organization_id, a.environment, a.id for update of a)
  update answers a set stream = a.stream or f.stream,
    reply_channels = case
      when f.reply_channel = '' or f.reply_channel = any(a.reply_channels) or cardinality(a.reply_channels) >= ${mostChannels} then a.reply_channels
      else a.reply_channels || f.reply_channel end
  from found f where ${sameKey('a', 'f')}`;

/** Lets another channel hear of an answer. Beyond some, listeners read back. */
export async function attachChannels(
  sql: Sql,
  listeners: readonly (AnswerKey & { readonly replyChannel: string; readonly stream: boolean })[],
): Promise<void> {
  const given = listeners.map((item) => ({ ...keyItem(item), reply_channel: item.replyChannel, stream: item.stream }));
  await sql(attach, [JSON.stringify(given)]);
}

const counts = `select coalesce(sum(waiting), 0)::integer as waiting, coalesce(sum(in_flight), 0)::integer as "inFlight" from answer_lines`;

/** How many answers of all tenants wait and are in flight. */
export async function countLines(sql: Sql): Promise<{ waiting: number; inFlight: number }> {
  const [row] = await sql<{ waiting: number; inFlight: number }>(counts);
  return row ?? { waiting: 0, inFlight: 0 };
}
