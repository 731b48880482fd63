import { examplesOf } from './examples.ts';
import { type Output, present, type Result } from './presentation.ts';
import { read } from './reading.ts';
import { type Schema, withKeysByName } from './schema.ts';
import { readingOf, statementOf } from './statement.ts';
import { type Hit, hitsStatement } from './values.ts';
import { type Word, wordsOf } from './words.ts';

/** The organization's data as far as the agent may see it. */
export interface Data {
  schema(): Promise<Schema>;
  /** Rows, or why there are none in words for the reader. */
  query(sql: string): Promise<Pick<Result, 'rows' | 'truncated'> | { readonly error: string }>;
}

export interface Asked {
  readonly message: string;
  /** What the same person asked before, newest last. */
  readonly earlier: readonly string[];
  readonly output: Output;
}

const longestQuestion = 200;

/** Answers a question about the data with one query, or says what it would understand. Never throws for any text. */
export async function analyse({ message, earlier, output }: Asked, data: Data): Promise<string> {
  const schema = withKeysByName(await data.schema());
  if (schema.length === 0) return 'No business data is connected to this agent, so there is nothing to look up.';
  const intent = await understand(wordsOf(message).slice(0, longestQuestion), earlier, schema, data);
  if (!intent) return notUnderstood(schema);
  const statement = statementOf(intent, schema);
  const result = await data.query(statement.sql);
  if ('error' in result) return `The data could not be read: ${result.error}`;
  return present({ ...result, titles: statement.titles }, readingOf(intent), output);
}

/** A question that names nothing may go on from the one before: `and last month?` */
async function understand(words: readonly Word[], earlier: readonly string[], schema: Schema, data: Data) {
  const own = read(words, schema, await hitsOf(words, schema, data));
  const before = earlier.at(-1);
  if (own || before === undefined || words.length > 6) return own;
  // What is said last wins, where both name a span of time or a value.
  const together = [...words, ...wordsOf(before).slice(0, longestQuestion)];
  return read(together, schema, await hitsOf(together, schema, data));
}

async function hitsOf(words: readonly Word[], schema: Schema, data: Data): Promise<Hit[]> {
  const statement = hitsStatement(words, schema);
  if (statement === undefined) return [];
  const found = await data.query(statement);
  // Without them the question may still be understood; what keeps the data away will show with the answer's own query.
  if ('error' in found) return [];
  return found.rows.map(([table, column, value]) => ({ table: String(table), column: String(column), value: String(value) }));
}

function notUnderstood(schema: Schema): string {
  const examples = examplesOf(schema).map((example) => `- ${example}`);
  return [
    'I did not understand that as a question about the data that I can see. I understand questions such as:',
    examples.join('\n'),
  ].join('\n\n');
}
