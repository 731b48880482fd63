import type { Sql } from '@agent-service/store';
import { questionIdOf } from '../domain/ids.ts';
import { unbegunMs } from '../domain/times.ts';
import { keyItem } from '../key.ts';
import type { Asked } from './load.ts';
import { afterLines, at, items, keyColumns, lockedLines, sameKey, sameTenant } from './text.ts';

/** A message whose credits are held. */
export interface Acceptable extends Asked {
  /** The conversation it begins, where it continues none. */
  readonly newConversationId: string;
  readonly tier: string;
  readonly message: string;
  readonly contextJson: string;
  readonly replyChannel: string;
  readonly stream: boolean;
  readonly idempotencyScope: string;
  readonly idempotencyFingerprint: string;
  readonly requestId: string;
  readonly traceparent: string;
  readonly deadline: number;
}

export interface AcceptedRow {
  organizationId: string;
  environment: 'live' | 'test';
  id: string;
  state: 'waiting' | 'dispatched';
  priority: number;
}

const columns = `${keyColumns}, agent_id text, conversation_id text, begins boolean, user_id text, tier text, question_id text, message text,
  context_json text, reply_channel text, stream boolean, scope text, fingerprint text, request_id text, traceparent text,
  accepted_at float8, deadline float8`;

// Locks in the order that deleting an agent keeps as well: agents, lines, and then what the line guards. An agent that is being
// deleted is waited for and then not found. The counters come from the locked row, so they are the newest ones.
const living = `
  living as materialized (
    select agent.* from (
      select distinct organization_id, environment, agent_id from items order by organization_id, environment, agent_id) i
    cross join lateral (
      select a.organization_id, a.environment, a.id, a.name from agents a
      where ${sameTenant('a', 'i')} and a.id = i.agent_id for key share) agent)`;

const lines = lockedLines.replace('from items order by', 'from items where (select count(*) from living) >= 0 order by');

const placed = `
  placed as materialized (
    select i.*, living.name as agent_name, line.waiting, line.in_flight,
      case when line.waiting = 0 then greatest(0, $2::integer - line.in_flight) else 0 end as free,
      row_number() over (partition by i.organization_id, i.environment order by i.id) as place
    from items i
    join living on ${sameTenant('living', 'i')} and living.id = i.agent_id
    join lines line on ${sameTenant('line', 'i')}
    where ${afterLines}),
  fitting as materialized (select *, place <= free as goes from placed where place <= free or waiting + place - free <= $3::integer)`;

const accepted = `
  accepted as (
    insert into answers (organization_id, environment, id, state, due, agent_id, agent_name, conversation_id, continues, user_id, tier,
      user_message_id, message, context_json, request_id, traceparent, idempotency_scope, stream, reply_channels,
      accepted_at, deadline, dispatches, priority, dispatched_at)
    select organization_id, environment, id, case when goes then 'dispatched' else 'waiting' end,
      case when goes then least(${at(`$4 + ${unbegunMs}`)}, ${at('deadline')}) else ${at('deadline')} end,
      agent_id, agent_name, conversation_id, not begins, user_id, tier, question_id, message, context_json, request_id, traceparent, scope,
      stream, case when reply_channel = '' then '{}' else array[reply_channel] end, ${at('accepted_at')}, ${at('deadline')},
      goes::integer, case when goes then in_flight + place else 0 end, case when goes then ${at('$4')} end
    from fitting order by organization_id, environment, id
    on conflict do nothing
    returning organization_id, environment, id, state, priority),
  taken as materialized (select f.* from fitting f join accepted a on ${sameKey('f', 'a')})`;

// One that is continued is there already, and is met by its key.
const effects = `
  talked as (
    insert into conversations (organization_id, environment, id, agent_id, user_id, message_count, created_at, last_message_at)
    select organization_id, environment, conversation_id, agent_id, user_id, 2, ${at('accepted_at')}, ${at('accepted_at')}
    from taken order by organization_id, environment, conversation_id
    on conflict (organization_id, environment, id) do update set message_count = conversations.message_count + 2,
      last_message_at = greatest(conversations.last_message_at, excluded.last_message_at)),
  counted as (
    insert into conversation_counts (organization_id, environment, agent_id, user_id, count)
    select organization_id, environment, agent_id, user_id, count(*) from taken where begins group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (organization_id, environment, agent_id, user_id) do update set count = conversation_counts.count + excluded.count),
  asked as (
    insert into messages (organization_id, environment, id, created_at, conversation_id, agent_id, user_id, role, content, status)
    select organization_id, environment, question_id, ${at('accepted_at - 1')}, conversation_id, agent_id, user_id, 'user', message, 'completed'
    from taken),
  named as (
    insert into answer_keys (organization_id, environment, scope, fingerprint, answer_id, created_at)
    select organization_id, environment, scope, fingerprint, id, ${at('$4')} from taken where scope <> ''),
  moved as (
    update answer_lines line set waiting = line.waiting + more.waiting, in_flight = line.in_flight + more.in_flight
    from (
      select organization_id, environment, count(*) filter (where goes) as in_flight, count(*) filter (where not goes) as waiting
      from taken group by 1, 2) more
    where ${sameTenant('line', 'more')})`;

const statement = `
  with ${items(columns)}, ${living}, ${lines}, ${placed}, ${accepted}, ${effects}
  select organization_id as "organizationId", environment, id, state, priority from accepted`;

/**
 * Accepts messages with everything that belongs to that, in one statement: what it returns is accepted, the rest met an agent or a
 * conversation that had changed meanwhile, a full line, or its own first acceptance. An Idempotency-Key that was taken meanwhile
 * fails the whole statement.
 */
export function acceptMessages(
  sql: Sql,
  messages: readonly Acceptable[],
  limits: { inFlight: number; waiting: number },
  now: number,
): Promise<AcceptedRow[]> {
  return sql<AcceptedRow>(statement, [JSON.stringify(messages.map(toItem)), limits.inFlight, limits.waiting, now]);
}

const toItem = (item: Acceptable) => ({
  ...keyItem(item),
  agent_id: item.agentId,
  conversation_id: item.conversationId || item.newConversationId,
  begins: item.conversationId === '',
  user_id: item.userId,
  tier: item.tier,
  question_id: questionIdOf(item.id),
  message: item.message,
  context_json: item.contextJson,
  reply_channel: item.replyChannel,
  stream: item.stream,
  scope: item.idempotencyScope,
  fingerprint: item.idempotencyFingerprint,
  request_id: item.requestId,
  traceparent: item.traceparent,
  accepted_at: item.acceptedAt,
  deadline: item.deadline,
});
