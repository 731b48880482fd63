import type { Sql } from '@agent-service/store';
import { questionIdOf } from '../domain/ids.ts';
import { type AnswerKey, keyItem, type TenantKey } from '../key.ts';
import { at, items, keyColumns, milliseconds, sameTenant, sought } from './text.ts';

/** What must be known of a message before its credits are held. */
export interface Circumstances {
  agentName: string | null;
  agentStatus: string | null;
  tier: string | null;
  /** Null where the tenant has no line yet. */
  waiting: number | null;
  inFlight: number | null;
  /** Whether the conversation that is to be continued is this user's with this agent. */
  conversationFound: boolean;
  conversationBusy: boolean;
  /** The acceptance of this very answer, where there was one. */
  acceptedIn: string | null;
  acceptedBy: string | null;
  acceptedAgent: string | null;
}

export interface Asked extends AnswerKey {
  readonly agentId: string;
  readonly conversationId: string;
  readonly userId: string;
  readonly acceptedAt: number;
}

// Each look-up has its limit, so that it is one by key: statements are planned while tables are small and run when they are not.
const statement = `
  with ${items(`n integer, ${keyColumns}, agent_id text, conversation_id text, user_id text, question_id text, asked_at float8`)}
  select agent.name as "agentName", agent.status as "agentStatus", agent.model as tier, line.waiting, line.in_flight as "inFlight",
    conversation.id is not null as "conversationFound", busy.id is not null as "conversationBusy",
    question.conversation_id as "acceptedIn", question.user_id as "acceptedBy", question.agent_id as "acceptedAgent"
  from items i
  left join lateral (select * from agents a where ${sameTenant('a', 'i')} and a.id = i.agent_id limit 1) agent on true
  left join lateral (select * from answer_lines l where ${sameTenant('l', 'i')} limit 1) line on true
  left join lateral (
    select c.id, c.agent_id, c.user_id from conversations c
    where i.conversation_id <> '' and ${sameTenant('c', 'i')} and c.id = i.conversation_id limit 1) conversation
    on conversation.agent_id = i.agent_id and conversation.user_id = i.user_id
  left join lateral (
    select b.id from answers b where i.conversation_id <> '' and ${sameTenant('b', 'i')}
      and b.conversation_id collate "C" = i.conversation_id and b.state <> 'releasing' limit 1) busy on true
  left join lateral (
    select m.conversation_id, m.user_id, m.agent_id from messages m
    where ${sameTenant('m', 'i')} and m.id = i.question_id and m.created_at = ${at('i.asked_at')} limit 1) question on true
  order by i.n`;

/** One look at everything for a whole batch, in its order. */
export function loadCircumstances(sql: Sql, asked: readonly Asked[]): Promise<Circumstances[]> {
  const given = asked.map((item, n) => ({
    n,
    ...keyItem(item),
    agent_id: item.agentId,
    conversation_id: item.conversationId,
    user_id: item.userId,
    question_id: questionIdOf(item.id),
    asked_at: item.acceptedAt - 1,
  }));
  return sql<Circumstances>(statement, [JSON.stringify(given)]);
}

export interface KeptKey {
  n: number;
  fingerprint: string;
  answerId: string;
  createdAt: number;
}

const keys = `
  with ${items('n integer, organization_id text, environment text, scope text')}
  select i.n, key.fingerprint, key.answer_id as "answerId", ${milliseconds('key.created_at')} as "createdAt"
  from items i cross join lateral (select * from answer_keys k where ${sameTenant('k', 'i')} and k.scope = i.scope limit 1) key`;

/** What the Idempotency-Keys of these items name already. */
export function loadKeys(sql: Sql, asked: readonly (Asked & { readonly idempotencyScope: string })[]): Promise<KeptKey[]> {
  const given = asked.flatMap(({ organizationId, environment, idempotencyScope: scope }, n) =>
    scope === '' ? [] : [{ n, organization_id: organizationId, environment, scope }],
  );
  return given.length === 0 ? Promise.resolve([]) : sql<KeptKey>(keys, [JSON.stringify(given)]);
}

const outlived = `
  delete from answer_keys where ctid = any(array(
    select ctid from answer_keys where created_at < ${at('$1')} order by created_at limit 1000 for update skip locked))
  returning 1`;

/** Forgets a bounded number of keys past their time. */
export const removeOldKeys = async (sql: Sql, before: number): Promise<number> => (await sql(outlived, [before])).length;

const named = `
  with ${sought('organization_id text, environment text, scope text')},
  old as materialized (
    select key.organization_id, key.environment, key.scope
    from items i join answer_keys key on ${sameTenant('key', 'i')} and key.scope = i.scope
    where key.created_at <= ${at('$2')}
    order by key.organization_id, key.environment, key.scope for update of key)
  delete from answer_keys key using old
  where ${sameTenant('key', 'old')} and key.scope = old.scope`;

/** Forgets the keys of these items, where they are past their time. */
export async function forgetKeys(
  sql: Sql,
  asked: readonly (TenantKey & { readonly idempotencyScope: string })[],
  before: number,
): Promise<void> {
  if (asked.length === 0) return;
  const given = asked.map((item) => ({
    organization_id: item.organizationId,
    environment: item.environment,
    scope: item.idempotencyScope,
  }));
  await sql(named, [JSON.stringify(given), before]);
}

const openLines = `
  insert into answer_lines (organization_id, environment)
  select distinct organization_id, environment from json_to_recordset($1::json) as item(organization_id text, environment text)
  order by 1, 2 on conflict do nothing`;

/** Gives tenants that never asked anything their line. */
export async function openLinesFor(sql: Sql, tenants: readonly AnswerKey[]): Promise<void> {
  if (tenants.length > 0) await sql(openLines, [JSON.stringify(tenants.map(keyItem))]);
}
