import type { Sql } from '@agent-service/store';
import { timeOf } from '../domain/answers/ids.ts';
import { cancelled, type Ender } from './ender.ts';
import type { AnswerKey } from './key.ts';
import { type ReadRow, readAnswers } from './store/read.ts';

/** Ends an answer that has no result yet, if it is this user's with this agent; what it is then. */
export async function cancelAnswer(
  sql: Sql,
  ender: Ender,
  key: AnswerKey,
  { agentId, userId }: { agentId: string; userId: string },
): Promise<ReadRow | undefined> {
  const found = await find(sql, key);
  if (found?.agentId !== agentId || found.userId !== userId) return undefined;
  if (found.status !== 'queued' && found.status !== 'running') return found;
  await ender.end([cancelled(key)]);
  return find(sql, key);
}

async function find(sql: Sql, key: AnswerKey): Promise<ReadRow | undefined> {
  const createdAt = timeOf(key.id);
  if (createdAt === undefined) return undefined;
  const [row] = await readAnswers(sql, [{ ...key, createdAt }]);
  return row;
}
