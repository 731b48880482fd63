import type { Sql } from '@agent-service/store';
import { cutExchange } from '../domain/last-exchange.ts';
import { type AnswerKey, keyItem } from '../key.ts';
import { at, items, keyColumns } from './text.ts';

const mostTurns = 200;
const mostBytes = 512 * 1024;

export interface Turn {
  role: string;
  content: string;
}

export interface Earlier extends AnswerKey {
  readonly conversationId: string;
  /** What the history leads up to. */
  readonly questionId: string;
  /** No message of the conversation is older. */
  readonly since: number;
}

// An answer and its question share all of their ids but the time. An exchange is as old as its answer and is there as a whole or not
// at all; of a question whose answer failed or was cancelled nothing is told. The newest is there however long it is, and is cut then.
const statement = `
  with ${items(`n integer, ${keyColumns}, conversation_id text, question_id text, since float8`)}
  select i.n, said.role, left(said.content, ${mostBytes}) as content, said.bytes > ${mostBytes} as "tooLong"
  from items i cross join lateral (
    select *, sum(octet_length(answered.content)) over (order by answered.answered_at desc, answered.exchange) as bytes,
      dense_rank() over (order by answered.answered_at desc, answered.exchange) as place
    from (
      select recent.*, max(recent.created_at) over same as answered_at,
        bool_or(recent.role = 'assistant') over same and bool_and(recent.status = 'completed') over same as completed
      from (
        select m.role, m.content, m.status, m.created_at, m.id, right(m.id, 16) as exchange from messages m
        where m.organization_id = i.organization_id and m.environment = i.environment and m.conversation_id = i.conversation_id
          and m.id <> i.question_id and m.created_at >= ${at('i.since')}
        order by m.created_at desc, m.id desc limit ${mostTurns}) recent
      window same as (partition by recent.exchange)) answered
    where answered.completed) said
  where said.bytes <= ${mostBytes} or said.place = 1
  order by i.n, said.answered_at, said.exchange desc, said.created_at, said.id`;

/** What was said before in these conversations, oldest first, as much of the newest as the largest budget takes and always the last exchange. */
export async function loadHistories(sql: Sql, earlier: readonly Earlier[]): Promise<Turn[][]> {
  const histories: Turn[][] = earlier.map(() => []);
  if (earlier.length === 0) return histories;
  const given = earlier.map((item, n) => ({
    n,
    ...keyItem(item),
    conversation_id: item.conversationId,
    question_id: item.questionId,
    since: item.since,
  }));
  const rows = await sql<Turn & { n: number; tooLong: boolean }>(statement, [JSON.stringify(given)]);
  for (const { n, role, content } of rows) histories[n]?.push({ role, content });
  const tooLong = new Set(rows.filter((row) => row.tooLong).map(({ n }) => n));
  return histories.map((turns, n) => (tooLong.has(n) ? cutExchange(turns, mostBytes) : turns));
}
