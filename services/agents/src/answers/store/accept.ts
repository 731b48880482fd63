import type { Tenant } from '@agent-service/contracts';
import { workerEntries } from '@agent-service/contracts/agents/fields';
import { insertInto, type RowColumns, type Sql, toJson } from '@agent-service/store';
import { type AnswerKey, keyRetentionMs, leaseMs, select, unbegunMs, userMessageIdOf } from '../../shared/answer.ts';
import {
  type AgentInput,
  afterLines,
  agentColumns,
  at,
  inLockOrder,
  items,
  itemsByKey,
  keyColumns,
  lockedLines,
  milliseconds,
  type NullColumns,
  sameKey,
  sameTenant,
  sourceVersion,
  stateAfter,
  tenantColumns,
} from './sql.ts';

/** A message as the gateway sends it. */
export interface Message extends AnswerKey {
  readonly agentId: string;
  /** Empty where it begins a conversation. */
  readonly conversationId: string;
  readonly userId: string;
  readonly text: string;
  readonly contextJson: string;
  readonly replyChannel: string;
  readonly stream: boolean;
  readonly idempotencyScope: string;
  readonly idempotencyFingerprint: string;
  readonly requestId: string;
  readonly traceparent: string;
  readonly acceptedAt: number;
  /** When its caller gets a timeout, by the monotonic clock. */
  readonly callerExpiresAt: number;
  readonly isCallerDisconnected: () => boolean;
}

/** A message that may be accepted, with the price and deadline of its answer. */
export interface Candidate extends AnswerKey {
  readonly message: Message;
  readonly tier: string;
  readonly deadline: number;
  /** The conversation that it begins or continues. */
  readonly conversationId: string;
  /** The worker whose attempt begins with the acceptance, unless the answer has to wait. Undefined where a job tells a worker. */
  readonly workerChannel?: string | undefined;
}

/** The facts that decide about a message before its credits are held, and what accepting it needs. */
export interface Situation {
  readonly continues: boolean;
  readonly agentStatus: string | null;
  /** The conversation that it continues is this user's with this agent. */
  readonly conversationFound: boolean;
  readonly conversationBusy: boolean;
  readonly waiting: number;
  /** Earlier acceptance of the same answer id. */
  readonly accepted: 'no' | 'forThisCaller' | 'forAnotherCaller';
  /** The answer that its Idempotency-Key names. */
  readonly key: Omit<KeyRow, 'n'> | undefined;
  readonly fingerprint: string;
  readonly tier: string;
  readonly hasLine: boolean;
}

const situationColumns: RowColumns<Message & { n: number }> = {
  n: ['integer', ({ n }) => n],
  ...keyColumns,
  agent_id: ['text', ({ agentId }) => agentId],
  conversation_id: ['text', ({ conversationId }) => conversationId],
  user_id: ['text', ({ userId }) => userId],
  user_message_id: ['text', ({ id }) => userMessageIdOf(id)],
  user_message_at: ['float8', ({ acceptedAt }) => acceptedAt - 1],
};

interface SituationRow extends Pick<Situation, 'agentStatus' | 'conversationFound' | 'conversationBusy'> {
  tier: string | null;
  /** Null where the tenant has no line yet. */
  waiting: number | null;
  acceptedBy: string | null;
  acceptedAgent: string | null;
}

// Each look-up has a limit of one row, so that the planner uses the key: statements are planned while tables are small.
const situations = `
  with ${items(situationColumns)}
  select ${select({
    agentStatus: 'agent.status',
    tier: 'agent.model',
    waiting: 'line.waiting',
    conversationFound: 'conversation.id is not null',
    conversationBusy: 'busy.id is not null',
    acceptedBy: 'message.user_id',
    acceptedAgent: 'message.agent_id',
  })}
  from items i
  left join lateral (select * from agents a where ${sameTenant('a', 'i')} and a.id = i.agent_id limit 1) agent on true
  left join lateral (select * from answer_lines l where ${sameTenant('l', 'i')} limit 1) line on true
  left join lateral (
    select c.id, c.agent_id, c.user_id from conversations c
    where i.conversation_id <> '' and ${sameTenant('c', 'i')} and c.id = i.conversation_id and c.deleted_at is null limit 1) conversation
    on conversation.agent_id = i.agent_id and conversation.user_id = i.user_id
  left join lateral (
    select b.id from answers b where i.conversation_id <> '' and ${sameTenant('b', 'i')}
      and b.conversation_id collate "C" = i.conversation_id and b.state <> 'releasing' limit 1) busy on true
  left join lateral (
    select m.user_id, m.agent_id from messages m
    where ${sameTenant('m', 'i')} and m.id = i.user_message_id and m.created_at = ${at('i.user_message_at')} limit 1) message on true
  order by i.n`;

type Keyed = Tenant & { readonly n: number; readonly idempotencyScope: string };

const scopeColumns: RowColumns<Keyed> = {
  n: ['integer', ({ n }) => n],
  ...tenantColumns,
  scope: ['text', ({ idempotencyScope }) => idempotencyScope],
};

interface KeyRow {
  n: number;
  fingerprint: string;
  answerId: string;
  createdAt: number;
}

const keysOfMessages = `
  with ${items(scopeColumns)}
  select ${select({ n: 'i.n', fingerprint: 'key.fingerprint', answerId: 'key.answer_id', createdAt: milliseconds('key.created_at') })}
  from items i cross join lateral (select * from answer_keys k where ${sameTenant('k', 'i')} and k.scope = i.scope limit 1) key`;

/** The answers that Idempotency-Keys name. */
export const loadKeys = (sql: Sql, keyed: readonly Keyed[]): Promise<KeyRow[]> =>
  keyed.length === 0 ? Promise.resolve([]) : sql<KeyRow>(keysOfMessages, [toJson(scopeColumns, keyed)]);

/** The situations of the messages of a batch, in its order. */
export async function loadSituations(sql: Sql, messages: readonly Message[]): Promise<Situation[]> {
  const numbered = messages.map((message, n) => ({ ...message, n }));
  const rows = await sql<SituationRow>(situations, [toJson(situationColumns, numbered)]);
  // Read after the situations: the key of a message that made the conversation busy is stored by then.
  const keyed = numbered.filter(({ idempotencyScope }) => idempotencyScope !== '');
  const keys = await loadKeys(sql, keyed);
  const keyOf = new Map(keys.map((key) => [key.n, key]));
  return messages.map((message, n) => toSituation(message, rows[n] as SituationRow, keyOf.get(n)));
}

function toSituation(message: Message, row: SituationRow, key: KeyRow | undefined): Situation {
  const isOfCaller = row.acceptedBy === message.userId && row.acceptedAgent === message.agentId;
  return {
    continues: message.conversationId !== '',
    agentStatus: row.agentStatus,
    conversationFound: row.conversationFound,
    conversationBusy: row.conversationBusy,
    waiting: row.waiting ?? 0,
    accepted: row.acceptedBy === null ? 'no' : isOfCaller ? 'forThisCaller' : 'forAnotherCaller',
    key,
    fingerprint: message.idempotencyFingerprint,
    tier: row.tier ?? '',
    hasLine: row.waiting !== null,
  };
}

const newLines = `
  insert into answer_lines (organization_id, environment)
  select distinct organization_id, environment from json_to_recordset($1::json) as item(organization_id text, environment text)
  order by 1, 2 on conflict do nothing`;

/** Gives tenants that have sent no message yet their line. */
export async function openLines(sql: Sql, tenants: readonly Tenant[]): Promise<void> {
  if (tenants.length > 0) await sql(newLines, [toJson(tenantColumns, tenants)]);
}

const expiredKeysOfMessages = `
  with ${itemsByKey(scopeColumns)},
  old as materialized (
    select key.organization_id, key.environment, key.scope
    from items i join answer_keys key on ${sameTenant('key', 'i')} and key.scope = i.scope
    where key.created_at <= ${at('$2')}
    order by key.organization_id, key.environment, key.scope for update of key)
  delete from answer_keys key using old
  where ${sameTenant('key', 'old')} and key.scope = old.scope`;

/** Removes the Idempotency-Keys of these messages where they have expired. */
export async function removeExpiredKeysOf(sql: Sql, messages: readonly Message[], now: number): Promise<void> {
  if (messages.length === 0) return;
  const keyed = messages.map((message, n) => ({ ...message, n }));
  await sql(expiredKeysOfMessages, [toJson(scopeColumns, keyed), now - keyRetentionMs]);
}

const expiredKeys = `
  delete from answer_keys where ctid = any(array(
    select ctid from answer_keys where created_at < ${at('$1')} order by created_at limit 1000 for update skip locked))
  returning 1`;

/** Removes a bounded number of expired Idempotency-Keys; returns how many. */
export const removeExpiredKeys = async (sql: Sql, now: number): Promise<number> => (await sql(expiredKeys, [now - keyRetentionMs])).length;

const candidateColumns: RowColumns<Candidate> = {
  ...keyColumns,
  agent_id: ['text', ({ message }) => message.agentId],
  conversation_id: ['text', ({ conversationId }) => conversationId],
  begins: ['boolean', ({ message }) => message.conversationId === ''],
  user_id: ['text', ({ message }) => message.userId],
  tier: ['text', ({ tier }) => tier],
  user_message_id: ['text', ({ id }) => userMessageIdOf(id)],
  message: ['text', ({ message }) => message.text],
  context_json: ['text', ({ message }) => message.contextJson],
  reply_channel: ['text', ({ message }) => message.replyChannel],
  stream: ['boolean', ({ message }) => message.stream],
  scope: ['text', ({ message }) => message.idempotencyScope],
  fingerprint: ['text', ({ message }) => message.idempotencyFingerprint],
  request_id: ['text', ({ message }) => message.requestId],
  traceparent: ['text', ({ message }) => message.traceparent],
  accepted_at: ['float8', ({ message }) => message.acceptedAt],
  deadline: ['float8', ({ deadline }) => deadline],
  worker_channel: ['text', ({ workerChannel }) => workerChannel ?? ''],
};

// Locks agents, then lines, then the rows that a line guards, as deleting an agent does. An agent that is being deleted is waited for
// and then not found. The counters come from the locked row, so they are the newest ones.
const lockedAgents = `
  living as materialized (
    select agent.* from (
      select distinct organization_id, environment, agent_id from items order by organization_id, environment, agent_id) i
    cross join lateral (
      select a.organization_id, a.environment, a.id, a.name, ${workerEntries.map(({ name }) => `a.${name}`).join(', ')} from agents a
      where ${sameTenant('a', 'i')} and a.id = i.agent_id for key share) agent)`;

// `ranked` numbers the messages of each tenant; `free` is how many more of its answers may be in flight, none while earlier ones wait. `fitting` has
// those that go at once (`goes`), of which some begin for waiting workers (`begins_now`), and those for which the waiting line has room.
const fitting = `
  ranked as materialized (
    select i.*, living.name as agent_name, line.waiting, line.in_flight,
      case when line.waiting = 0 then greatest(0, $2::integer - line.in_flight) else 0 end as free,
      row_number() over (partition by i.organization_id, i.environment order by i.id) as rank
    from items i
    join living on ${sameTenant('living', 'i')} and living.id = i.agent_id
    join lines line on ${sameTenant('line', 'i')}
    where ${afterLines}),
  fitting as materialized (
    select *, rank <= free as goes, rank <= free and worker_channel <> '' as begins_now from ranked where rank <= free or waiting + rank - free <= $3::integer)`;

// A message that was accepted before conflicts with its own row. `taken` has those that this statement has accepted.
const accepted = `
  accepted as (
    ${insertInto('answers', {
      organization_id: 'organization_id',
      environment: 'environment',
      id: 'id',
      state: `case when begins_now then ${stateAfter('begin')} when goes then ${stateAfter('dispatch')} else 'waiting' end`,
      due: `case when goes
        then least(${at(`$4 + case when begins_now then ${leaseMs} else ${unbegunMs} end`)}, ${at('deadline')}) else ${at('deadline')} end`,
      agent_id: 'agent_id',
      agent_name: 'agent_name',
      conversation_id: 'conversation_id',
      continues: 'not begins',
      user_id: 'user_id',
      tier: 'tier',
      user_message_id: 'user_message_id',
      message: 'message',
      context_json: 'context_json',
      request_id: 'request_id',
      traceparent: 'traceparent',
      idempotency_scope: 'scope',
      stream: 'stream',
      reply_channels: `case when reply_channel = '' then '{}' else array[reply_channel] end`,
      accepted_at: at('accepted_at'),
      deadline: at('deadline'),
      dispatches: 'goes::integer',
      priority: 'case when goes then in_flight + rank else 0 end',
      dispatched_at: `case when goes then ${at('$4')} end`,
      attempt: 'begins_now::integer',
      worker_channel: `case when begins_now then worker_channel else '' end`,
    })}
    from fitting order by organization_id, environment, id
    on conflict do nothing
    returning organization_id, environment, id, state, priority, agent_id),
  taken as materialized (select f.* from fitting f join accepted a on ${sameKey('f', 'a')})`;

// The conversation of a message that continues one exists already. PostgreSQL runs parts that no other part reads from the last to the first, so
// counters are locked before conversations, as a deletion locks them. A reference would state that order, but make the statement dearer.
const effects = `
  conversation as (
    ${insertInto('conversations', {
      organization_id: 'organization_id',
      environment: 'environment',
      id: 'conversation_id',
      agent_id: 'agent_id',
      user_id: 'user_id',
      message_count: '2',
      created_at: at('accepted_at'),
      last_message_at: at('accepted_at'),
    })}
    from taken order by organization_id, environment, conversation_id
    on conflict (organization_id, environment, id) do update set message_count = conversations.message_count + 2,
      last_message_at = greatest(conversations.last_message_at, excluded.last_message_at)),
  conversation_count as (
    insert into conversation_counts (organization_id, environment, agent_id, user_id, count)
    select organization_id, environment, agent_id, user_id, count(*) from taken where begins group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (organization_id, environment, agent_id, user_id) do update set count = conversation_counts.count + excluded.count),
  user_message as (
    ${insertInto('messages', {
      organization_id: 'organization_id',
      environment: 'environment',
      id: 'user_message_id',
      created_at: at('accepted_at - 1'),
      conversation_id: 'conversation_id',
      agent_id: 'agent_id',
      user_id: 'user_id',
      role: `'user'`,
      content: 'message',
      status: `'completed'`,
    })}
    from taken),
  idempotency_key as (
    ${insertInto('answer_keys', {
      organization_id: 'organization_id',
      environment: 'environment',
      scope: 'scope',
      fingerprint: 'fingerprint',
      answer_id: 'id',
      created_at: at('$4'),
    })}
    from taken where scope <> ''),
  line_update as (
    update answer_lines line set waiting = line.waiting + more.waiting, in_flight = line.in_flight + more.in_flight
    from (
      select organization_id, environment, count(*) filter (where goes) as in_flight, count(*) filter (where not goes) as waiting
      from taken group by 1, 2) more
    where ${sameTenant('line', 'more')})`;

const accept = `
  with ${items(candidateColumns)}, ${lockedAgents}, ${lockedLines('where (select count(*) from living) >= 0')}, ${fitting}, ${accepted}, ${effects}
  select ${select({
    organizationId: 'a.organization_id',
    environment: 'a.environment',
    id: 'a.id',
    state: 'a.state',
    priority: 'a.priority',
    ...agentColumns('living'),
    sourceVersion: `case when living.id is not null then ${sourceVersion('a')} end`,
  })}
  from accepted a
  left join living on a.state = ${stateAfter('begin')} and ${sameTenant('living', 'a')} and living.id = a.agent_id`;

/** An accepted answer, with what its attempt needs where one has begun. */
export type AcceptedRow = AnswerKey & { readonly priority: number } & (
    | ({ readonly state: 'running' } & AgentInput)
    | ({ readonly state: 'waiting' | 'dispatched' } & NullColumns<AgentInput>)
  );

/**
 * Accepts messages with all their effects in one statement, and returns those that it accepted. The agent or conversation of the
 * others has changed in the meantime, their line is full, or they were accepted before. An Idempotency-Key that was taken in the
 * meantime fails the whole statement.
 */
export function acceptMessages(
  sql: Sql,
  candidates: readonly Candidate[],
  limits: { inFlight: number; waiting: number },
  now: number,
): Promise<AcceptedRow[]> {
  return sql<AcceptedRow>(accept, [toJson(candidateColumns, candidates), limits.inFlight, limits.waiting, now]);
}

const maxChannels = 20;

/** A reply channel that gets the events of an answer from now on. */
export type Listener = AnswerKey & Pick<Message, 'replyChannel' | 'stream'>;

const listenerColumns: RowColumns<Listener> = {
  ...keyColumns,
  reply_channel: ['text', ({ replyChannel }) => replyChannel],
  stream: ['boolean', ({ stream }) => stream],
};

const addChannels = `
  with ${itemsByKey(listenerColumns)},
  attached as materialized (
    select i.* from items i join answers a on ${sameKey('a', 'i')} where a.state <> 'releasing' ${inLockOrder('a')} for update of a)
  update answers a set stream = a.stream or t.stream,
    reply_channels = case
      when t.reply_channel = '' or t.reply_channel = any(a.reply_channels) or cardinality(a.reply_channels) >= ${maxChannels} then a.reply_channels
      else a.reply_channels || t.reply_channel end
  from attached t where ${sameKey('a', 't')}`;

/** Adds a reply channel to answers. Listeners beyond the limit of an answer have to read it. */
export async function attachChannels(sql: Sql, listeners: readonly Listener[]): Promise<void> {
  await sql(addChannels, [toJson(listenerColumns, listeners)]);
}

export const acceptStatements = { situations, keysOfMessages, newLines, expiredKeysOfMessages, expiredKeys, accept, addChannels };
