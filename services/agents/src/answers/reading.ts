import { ServiceError } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import type { AnswerKey } from './key.ts';
import { type ReadRow, readAnswers } from './store/read.ts';

/** Answers come with all that they say, so few are read at a time. */
const rowsAStep = 50;
/** Less than one message between services may carry. */
const mostBytes = 6 * 1024 * 1024;

export type Readable = AnswerKey & { readonly createdAt: number };

/** What is kept of each answer that there is. */
export async function readInSteps<Kept>(sql: Sql, keys: readonly Readable[], keep: (row: ReadRow) => Kept): Promise<Kept[]> {
  const kept: Kept[] = [];
  for (let first = 0; first < keys.length; first += rowsAStep) {
    const rows = await readAnswers(sql, keys.slice(first, first + rowsAStep));
    for (const row of rows) kept.push(keep({ ...row, n: row.n + first }));
  }
  return kept;
}

/** As whole as they are; more than can be sent at once is refused before it is all in memory, and is to be asked for in parts. */
export function readWhole(sql: Sql, keys: readonly Readable[]): Promise<ReadRow[]> {
  let bytes = 0;
  return readInSteps(sql, keys, (row) => {
    bytes += Buffer.byteLength(row.content) + Buffer.byteLength(JSON.stringify(row.queries ?? ''));
    if (bytes > mostBytes && keys.length > 1) throw new ServiceError('internal', { message: 'The answers are too large for one message.' });
    return row;
  });
}
