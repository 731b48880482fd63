import type { Sql } from '@agent-service/store';
import { timeOf } from './domain/ids.ts';
import { cancelled, type Ender } from './ender.ts';
import type { AnswerKey } from './key.ts';
import { type ReadRow, readAnswers } from './store/read.ts';

/** What an answer is after it was to be cancelled. */
export interface Cancelled {
  readonly row: ReadRow;
  /** To be called after the commit: it tells everybody and gives the hold back. */
  committed(): void;
}

/** Ends an answer that has no result yet, if it is this user's with this agent, within the caller's transaction. */
export async function cancelAnswer(
  sql: Sql,
  ender: Ender,
  key: AnswerKey,
  { agentId, userId }: { agentId: string; userId: string },
): Promise<Cancelled | undefined> {
  const found = await find(sql, key);
  if (found?.agentId !== agentId || found.userId !== userId) return undefined;
  if (found.status !== 'queued' && found.status !== 'running') return { row: found, committed: () => undefined };
  const { committed } = await ender.endWithin(sql, [cancelled(key)]);
  const row = await find(sql, key);
  return row && { row, committed };
}

async function find(sql: Sql, key: AnswerKey): Promise<ReadRow | undefined> {
  const createdAt = timeOf(key.id);
  if (createdAt === undefined) return undefined;
  const [row] = await readAnswers(sql, [{ ...key, createdAt }]);
  return row;
}
