import type { Sql } from '@agent-service/store';
import type { AnswerKey } from '../key.ts';
import { keyItem } from '../key.ts';
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

// Questions whose answer failed are part of what was said; failures are not.
const statement = `
  with ${items(`n integer, ${keyColumns}, conversation_id text, question_id text, since float8`)}
  select i.n, turn.role, turn.content
  from items i cross join lateral (
    select *, sum(octet_length(recent.content)) over (order by recent.created_at desc, recent.id desc) as bytes
    from (
      select m.role, m.content, m.created_at, m.id from messages m
      where m.organization_id = i.organization_id and m.environment = i.environment and m.conversation_id = i.conversation_id
        and m.id <> i.question_id and m.created_at >= ${at('i.since')} and m.status = 'completed'
      order by m.created_at desc, m.id desc limit ${mostTurns}) recent) turn
  where turn.bytes <= ${mostBytes}
  order by i.n, turn.created_at, turn.id`;

/** What was said before in these conversations, oldest first, as much of the newest as the largest budget takes. */
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
  const rows = await sql<Turn & { n: number }>(statement, [JSON.stringify(given)]);
  for (const { n, role, content } of rows) histories[n]?.push({ role, content });
  return histories;
}
