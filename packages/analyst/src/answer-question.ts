import { examplesOf } from './answer/examples.ts';
import { fenced, messageReply, type Outcome, type Output, present, type Reply, type Result } from './answer/presentation.ts';
import { describeIntent, statementOf } from './answer/statement.ts';
import { type Doubts, doubtsOf } from './question/coverage.ts';
import { combine, continuesPrevious, foretells, latest, longestFollowUp } from './question/follow-ups.ts';
import { type Reading, read } from './question/interpretation.ts';
import { mentionedTables } from './schema/measures.ts';
import { type Schema, withKeysByName } from './schema/schema.ts';
import { type Hit, hitsStatements } from './schema/values.ts';
import { type Data, type Tool, toolData, type Unreadable } from './tools.ts';
import { isColouring, isTalk, replaceVerbs, type Word, wordsOf } from './words/words.ts';

/** The end of every answer, so that no reader mistakes it for that of a language model. */
export const signature = 'Answered by the built-in model; no language model is configured.';

const longestMessage = 4_000;

export interface Question {
  readonly message: string;
  /** The same user's earlier messages, oldest first. */
  readonly earlier: readonly string[];
  readonly output: Output;
  readonly tools: readonly Tool[];
}

/** The text of an answer, and what it is to a program. */
export interface AnalystAnswer {
  readonly content: string;
  /** `refused`: it asks back or explains itself, and has no figures; `unreadable`: the data could not be read. */
  readonly outcome: Outcome;
  /** The rows of an answered question. */
  readonly result?: Result;
}

/** Answers a question about the tables that the tools give access to, without a language model, and says so. */
export async function answerQuestion({ message, earlier, output, tools }: Question, signal: AbortSignal): Promise<AnalystAnswer> {
  const data = toolData(tools, signal);
  const reply = data
    ? await analyse({ message: cut(message), earlier: earlier.map(cut), output }, data)
    : messageReply('No business data is connected to this agent, so there is nothing to look up.');
  const { outcome, result } = reply;
  return { content: signed(reply, output.format), outcome, ...(result && { result }) };
}

const cut = (message: string): string => message.slice(0, longestMessage);

/** An answer in JSON is one block and nothing else. */
const signed = ({ text, members }: Reply, format: Output['format']): string =>
  format === 'json' ? fenced('json', { ...members, model: 'built-in', note: signature }) : `${text}\n\n${signature}`;

interface Request {
  readonly message: string;
  /** The same user's earlier messages, newest last. */
  readonly earlier: readonly string[];
  readonly output: Output;
}

const longestQuestion = 60;

/** Answers a question about the data with one query, or lists questions that it understands. Never throws for any text. */
async function analyse(request: Request, data: Data): Promise<Reply> {
  const read = await data.schema();
  if ('error' in read) return unreadable(read);
  const schema = withKeysByName(read);
  if (schema.length === 0) return messageReply('No table is in the scope of this agent, so there is nothing to look up.');
  const words = wordsOf(request.message).slice(0, longestQuestion);
  if (isTalk(request.message, words)) return explained('I answer questions about the tables that this agent can see', schema, words);
  const question = await understand(words, request.earlier, schema, data);
  if ('error' in question) return unreadable(question);
  const { reading } = question;
  if (!reading) return explained('I did not understand that as a question about the data that I can see', schema, words);
  if (foretells(reading.intent, question.words))
    return explained('That asks about the future: I look up what is in the data and make no forecasts', schema, words);
  const doubts = doubtsOf(reading.unplaced, question.words);
  const refusal = refusalOf(reading, doubts, schema);
  if (refusal !== undefined) return explained(refusal, schema, words);
  return await answer(reading, doubts.others, { schema, data, output: request.output });
}

const unreadable = ({ error }: Unreadable): Reply => ({ ...messageReply(`The data could not be read: ${error}`), outcome: 'unreadable' });

/** Why an answer would mislead; undefined where there is one to give. */
function refusalOf({ unplaced }: Reading, { names, negations, groups, others }: Doubts, schema: Schema): string | undefined {
  if (names.length > 0) return `I found no ${names.map((name) => `“${name}”`).join(' and no ')} in the data that this question leads to`;
  if (negations.length > 0) return `I did not understand what “${negations.join(' ')}” leaves out here`;
  const tables = mentionedTables(unplaced, schema).map(({ table }) => table.name.replaceAll('_', ' '));
  if (tables.length > 0) return `I cannot bring ${tables.join(' and ')} together with the rest of the question`;
  if (groups.length > 0) return `I do not know how to put these rows together by “${groups.join(' ')}”`;
  return unplaced.every(isColouring) ? undefined : `I could not place: ${others.join(', ')}`;
}

interface Scene {
  readonly schema: Schema;
  readonly data: Data;
  readonly output: Output;
}

async function answer({ intent }: Reading, others: readonly string[], { schema, data, output }: Scene): Promise<Reply> {
  const { sql, titles } = statementOf(intent, schema);
  const result = await data.query(sql);
  if ('error' in result) return unreadable(result);
  const rows = result.rows.slice(0, intent.limit).map((row) => row.slice(0, titles.length));
  const days = (result.rows[0]?.slice(titles.length) ?? []).map(String);
  const truncated = result.truncated || result.rows.length > rows.length;
  return present({ titles, rows, truncated }, { counted: describeIntent(intent, days), unplaced: others }, output);
}

interface Understood {
  readonly words: readonly Word[];
  readonly reading: Reading | undefined;
}

/** A question that continues the previous one is interpreted together with it, or alone where that gives no interpretation. */
async function understand(
  words: readonly Word[],
  earlier: readonly string[],
  schema: Schema,
  data: Data,
): Promise<Understood | Unreadable> {
  const own = await readWith({ words, own: words.length }, schema, data);
  const before = earlier.at(-1);
  if ('error' in own || before === undefined || !(continuesPrevious(words) || own.reading === undefined) || words.length > longestFollowUp)
    return own;
  const together = await readWith(combine(words, earlier, longestQuestion), schema, data);
  return 'error' in together || together.reading ? together : own;
}

async function readWith(combined: ReturnType<typeof combine>, schema: Schema, data: Data): Promise<Understood | Unreadable> {
  const hits = await hitsOf(combined.words, schema, data);
  if ('error' in hits) return hits;
  const { words: left, hits: still } = latest(hits, combined);
  const words = replaceVerbs(left);
  return { words, reading: read(words, schema, still) };
}

async function hitsOf(words: readonly Word[], schema: Schema, data: Data): Promise<Hit[] | Unreadable> {
  const hits: Hit[] = [];
  for (const statement of hitsStatements(words, schema)) {
    const result = await data.query(statement);
    if ('error' in result) return result;
    hits.push(...result.rows.map(([table, column, value]) => ({ table: String(table), column: String(column), value: String(value) })));
  }
  return hits;
}

function explained(reason: string, schema: Schema, words: readonly Word[]): Reply {
  const questions = examplesOf(schema, words);
  const listed = questions.map((question) => `- ${question}`).join('\n');
  return {
    outcome: 'refused',
    text: `${reason}. I understand questions such as:\n\n${listed}`,
    members: { message: `${reason}.`, questions },
  };
}
