import type { Sql } from '@agent-service/store';
import { leaseMs, mostLostLeases } from '../domain/times.ts';
import { type AnswerKey, keyItem } from '../key.ts';
import { allowing, at, keyColumns, milliseconds, sameKey, sameTenant, sought } from './text.ts';

export interface Claim extends AnswerKey {
  readonly claim: string;
  /** Its process runs nothing else. */
  readonly apart: boolean;
  /** Its process runs only answers that have lost one lease. */
  readonly shared?: boolean;
  readonly workerChannel: string;
}

export interface BegunRow extends AnswerKey {
  claim: string;
  attempt: number;
  deadline: number;
  agentId: string;
  conversationId: string;
  continues: boolean;
  userId: string;
  tier: string;
  message: string;
  contextJson: string;
  replyChannels: string[];
  stream: boolean;
  requestId: string;
  traceparent: string;
  /** All null where the agent has been deleted. */
  systemPrompt: string | null;
  tables: string[] | null;
  readOnly: boolean | null;
  defaultFormat: string | null;
  chartEnabled: boolean | null;
  /** An earlier attempt has claimed a change of business data. */
  changedBefore: boolean;
  /** 0 when no data source is connected. */
  sourceVersion: number;
}

// A claim that is asked for again gets the attempt it has. An answer that has lost a lease may end its process, so it shares one only
// with others that have lost one, and runs alone after two. Rows are locked in the order of their keys before any is changed.
const statement = `
  with ${sought(`${keyColumns}, claim text, apart boolean, shared boolean, worker_channel text`)},
  taken as materialized (
    select i.*, a.state = 'running' and a.claim = i.claim as again from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ${allowing('begin')} and a.deadline > ${at('$2')}
      and (a.claim = i.claim or (a.state = 'dispatched' and (
        a.lost_leases = 0 or (i.shared and a.lost_leases = 1) or (i.apart and a.lost_leases < ${mostLostLeases}))))
    order by a.organization_id, a.environment, a.id for update of a),
  begun as (
    update answers a
    set state = 'running', claim = t.claim, attempt = a.attempt + (not t.again)::integer, worker_channel = t.worker_channel,
      due = least(${at(`$2 + ${leaseMs}`)}, a.deadline)
    from taken t where ${sameKey('a', 't')}
    returning a.*)
  select b.organization_id as "organizationId", b.environment, b.id, b.claim, b.attempt, ${milliseconds('b.deadline')} as deadline,
    b.agent_id as "agentId", b.conversation_id as "conversationId", b.continues, b.user_id as "userId", b.tier, b.message,
    b.context_json as "contextJson", b.reply_channels as "replyChannels", b.stream, b.request_id as "requestId", b.traceparent,
    agent.system_prompt as "systemPrompt", agent.tables, agent.read_only as "readOnly",
    agent.default_format as "defaultFormat", agent.chart_enabled as "chartEnabled",
    b.attempt > 1 and exists (
      select 1 from answer_steps s where ${sameTenant('s', 'b')} and s.answer_id = b.id and s.attempt < b.attempt) as "changedBefore",
    coalesce((select d.version from data_sources d where ${sameTenant('d', 'b')} and d.url_sealed is not null), 0) as "sourceVersion"
  from begun b left join agents agent on ${sameTenant('agent', 'b')} and agent.id = b.agent_id`;

/** Gives answers to a worker; those that are another's or have ended are not among what comes back. */
export function beginAnswers(sql: Sql, claims: readonly Claim[], now: number): Promise<BegunRow[]> {
  const given = claims.map((item) => ({
    ...keyItem(item),
    claim: item.claim,
    apart: item.apart,
    shared: item.shared ?? false,
    worker_channel: item.workerChannel,
  }));
  return sql<BegunRow>(statement, [JSON.stringify(given), now]);
}

/** Which of these are still in hand, by whomever. */
export function stillInHand(sql: Sql, keys: readonly AnswerKey[]): Promise<AnswerKey[]> {
  return sql<AnswerKey>(
    `with ${sought(keyColumns)}
     select a.organization_id as "organizationId", a.environment, a.id from items i join answers a on ${sameKey('a', 'i')}
     where a.state <> 'releasing'`,
    [JSON.stringify(keys.map(keyItem))],
  );
}
