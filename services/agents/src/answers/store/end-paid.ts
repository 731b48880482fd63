import type { Sql } from '@agent-service/store';
import { type AnswerKey, keyItem } from '../key.ts';
import { afterLines, allowing, at, keyColumns, lockedLines, sameKey, sameTenant, sought } from './text.ts';

export interface Paid extends AnswerKey {
  readonly createdAt: number;
  readonly credits: number;
  /** What subscribers are to be told; null where nobody subscribes. */
  readonly event: { readonly id: string } | null;
}

/** An answer that has just ended, with its tenant's line as it was left. */
export interface EndedRow extends AnswerKey {
  waiting: number;
  inFlight: number;
}

const statement = `
  with ${sought(`${keyColumns}, created_at float8, credits integer, event jsonb`)}, ${lockedLines},
  settled as materialized (
    select i.* from items i join answers a on ${sameKey('a', 'i')}
    where a.state in ${allowing('settled')} and ${afterLines}
    order by a.organization_id, a.environment, a.id for update of a),
  gone as (
    delete from answers a using settled s where ${sameKey('a', 's')}
    returning a.organization_id, a.environment, a.id, a.conversation_id, a.agent_id, a.user_id, a.tier, a.attempt, a.content,
      a.content_type, a.queries, s.created_at, s.credits, s.event),
  said as (
    insert into messages (organization_id, environment, id, created_at, conversation_id, agent_id, user_id, role, content,
      content_type, status, tier, credits, attempt, queries)
    select organization_id, environment, id, ${at('created_at')}, conversation_id, agent_id, user_id, 'assistant', content,
      content_type, 'completed', tier, credits, attempt, queries
    from gone),
  charged as (
    update conversations c set total_credits = c.total_credits + g.credits
    from gone g where g.credits > 0 and ${sameTenant('c', 'g')} and c.id = g.conversation_id),
  counts as (select organization_id, environment, count(*)::integer as ended from gone group by 1, 2),
  moved as (
    update answer_lines line set in_flight = line.in_flight - counts.ended from counts where ${sameTenant('line', 'counts')}),
  told as (insert into outbox (id, topic, payload) select event ->> 'id', 'events', event from gone where event is not null)
  select g.organization_id as "organizationId", g.environment, g.id, line.waiting, line.in_flight - counts.ended as "inFlight"
  from gone g join lines line on ${sameTenant('line', 'g')} join counts on ${sameTenant('counts', 'g')}`;

/**
 * Ends answers that are paid for. A conversation has one answer in hand at most, so none is charged twice in a batch. Those that
 * somebody else has ended are not among what comes back.
 */
export function endPaid(sql: Sql, paid: readonly Paid[]): Promise<EndedRow[]> {
  const given = paid.map(({ createdAt, credits, event, ...key }) => ({ ...keyItem(key), created_at: createdAt, credits, event }));
  return sql<EndedRow>(statement, [JSON.stringify(given)]);
}
