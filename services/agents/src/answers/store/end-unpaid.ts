import type { Sql } from '@agent-service/store';
import { dutyMs } from '../domain/times.ts';
import { type AnswerKey, keyItem } from '../key.ts';
import { afterLines, allowing, at, keyColumns, lockedLines, milliseconds, sameKey, sameTenant, sought } from './text.ts';

export interface Unpaid extends AnswerKey {
  readonly createdAt: number;
  readonly status: 'failed' | 'cancelled';
  readonly content: string;
  readonly failure: { readonly code: string; readonly message: string };
  /** Only this attempt may end it so; null: anybody may. */
  readonly attempt: number | null;
  /** A stored result that can not be paid for is ended; all others are kept from ending. */
  readonly unpayable?: boolean;
}

export interface UnpaidRow extends AnswerKey {
  waiting: number;
  inFlight: number;
  was: string;
  agentId: string;
  conversationId: string;
  userId: string;
  tier: string;
  attempt: number;
  dispatches: number;
  apart: boolean;
  workerChannel: string;
  acceptedAt: number;
  replyChannels: string[];
  requestId: string;
}

const columns = `${keyColumns}, created_at float8, status text, content text, failure_code text, failure_message text, attempt integer, unpayable boolean`;

const statement = `
  with ${sought(columns)}, ${lockedLines},
  ending as materialized (
    select i.*, a.state as was, a.attempt as reached from items i join answers a on ${sameKey('a', 'i')}
    where ${afterLines} and (i.attempt is null or (a.state = 'running' and a.attempt = i.attempt))
      and case when i.unpayable then a.state in ${allowing('unpayable')} else a.state in ${allowing('end')} end
    order by a.organization_id, a.environment, a.id for update of a),
  ended as (
    update answers a set state = 'releasing', due = ${at(`$2 + ${dutyMs}`)}, content = '', claim = ''
    from ending e where ${sameKey('a', 'e')}
    returning a.*, e.was, e.created_at, e.status, e.content as sentence, e.failure_code, e.failure_message),
  said as (
    insert into messages (organization_id, environment, id, created_at, conversation_id, agent_id, user_id, role, content, status, tier,
      attempt, failure_code, failure_message)
    select organization_id, environment, id, ${at('created_at')}, conversation_id, agent_id, user_id, 'assistant', sentence, status, tier,
      attempt, failure_code, failure_message
    from ended),
  freed as (
    delete from answer_keys key using ended e
    where e.idempotency_scope <> '' and ${sameTenant('key', 'e')} and key.scope = e.idempotency_scope and key.answer_id = e.id),
  counts as (
    select organization_id, environment, (count(*) filter (where was = 'waiting'))::integer as waited,
      (count(*) filter (where was <> 'waiting'))::integer as flew
    from ended group by 1, 2),
  moved as (
    update answer_lines line set waiting = line.waiting - counts.waited, in_flight = line.in_flight - counts.flew
    from counts where ${sameTenant('line', 'counts')})
  select e.organization_id as "organizationId", e.environment, e.id, line.waiting - counts.waited as waiting,
    line.in_flight - counts.flew as "inFlight", e.was, e.agent_id as "agentId", e.conversation_id as "conversationId",
    e.user_id as "userId", e.tier, e.attempt, e.dispatches, e.lost_leases > 0 as apart,
    e.worker_channel as "workerChannel",
    ${milliseconds('e.accepted_at')} as "acceptedAt", e.reply_channels as "replyChannels", e.request_id as "requestId"
  from ended e join lines line on ${sameTenant('line', 'e')} join counts on ${sameTenant('counts', 'e')}`;

/** Ends answers that nobody pays for and leaves their holds to be released. Those that may not end so are not among what comes back. */
export function endUnpaid(sql: Sql, unpaid: readonly Unpaid[], now: number): Promise<UnpaidRow[]> {
  const given = unpaid.map(({ createdAt, status, content, failure, attempt, unpayable, ...key }) => ({
    ...keyItem(key),
    created_at: createdAt,
    status,
    content,
    failure_code: failure.code,
    failure_message: failure.message,
    attempt,
    unpayable: unpayable ?? false,
  }));
  return sql<UnpaidRow>(statement, [JSON.stringify(given), now]);
}
