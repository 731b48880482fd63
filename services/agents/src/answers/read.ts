import { type AnswerMessage, ServiceError } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import { type AnswerReading, type QueryRecord, type ReadRow, readAnswers } from './store/read.ts';

/** Answers are read with their content, so few at a time. */
const rowsAStep = 50;
/** Less than the limit of a message between services. */
const maxBytes = 6 * 1024 * 1024;

/** Reads answers in steps, and collects what `keep` returns for each that exists. */
export async function readInSteps<Kept>(sql: Sql, keys: readonly AnswerReading[], keep: (row: ReadRow) => Kept): Promise<Kept[]> {
  const results: Kept[] = [];
  for (let first = 0; first < keys.length; first += rowsAStep) {
    const rows = await readAnswers(sql, keys.slice(first, first + rowsAStep));
    for (const row of rows) results.push(keep({ ...row, n: row.n + first }));
  }
  return results;
}

/** Reads whole answers. Fails before more than one message can carry is in memory; the caller then asks for fewer. */
export function readWhole(sql: Sql, keys: readonly AnswerReading[]): Promise<ReadRow[]> {
  let bytes = 0;
  return readInSteps(sql, keys, (row) => {
    bytes += Buffer.byteLength(row.content) + Buffer.byteLength(JSON.stringify(row.queries ?? ''));
    if (bytes > maxBytes && keys.length > 1) throw new ServiceError('internal', { message: 'The answers are too large for one message.' });
    return row;
  });
}

export interface MessageParts {
  id: string;
  conversationId: string;
  agentId: string;
  content: string;
  contentType: string;
  credits: number;
  tier: string;
  createdAt: number;
  status: string;
  failure: { code: string; message: string } | null;
  queries: readonly QueryRecord[];
}

/** An answer as the message that callers get. */
export const toMessage = ({ credits, tier, createdAt, queries, ...parts }: MessageParts): AnswerMessage => ({
  ...parts,
  role: 'assistant',
  creditsConsumed: credits,
  modelUsed: tier,
  createdAt: new Date(createdAt).toISOString(),
  queries: queries.map((query) => ({ ...query, tables: [...query.tables] })),
});

export const rowMessage = ({ failureCode, failureMessage, queries, ...row }: ReadRow): AnswerMessage =>
  toMessage({
    id: row.id,
    conversationId: row.conversationId,
    agentId: row.agentId,
    content: row.content,
    contentType: row.contentType,
    credits: row.credits,
    tier: row.tier,
    createdAt: row.createdAt,
    status: row.status,
    failure: failureCode === '' ? null : { code: failureCode, message: failureMessage },
    queries: queries ?? [],
  });
