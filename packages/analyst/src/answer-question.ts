import { catalogReply } from './answer/catalog.ts';
import { absentAssumed, describeIntent, keysAssumed, understoodOf, unfinishedOf } from './answer/describe.ts';
import { examplesOf } from './answer/examples.ts';
import { explainChange } from './answer/explain.ts';
import {
  displayCell,
  fencedBlock,
  messageReply,
  type Outcome,
  type Output,
  present,
  type Reply,
  type Result,
} from './answer/presentation.ts';
import { groupedBy, statementOf } from './answer/statement.ts';
import { columnTitle } from './conditions/conditions.ts';
import type { Intent } from './meaning/intent.ts';
import { type Vocabulary, vocabularyOf } from './meaning/tiles.ts';
import { currenciesBeside, mixedCurrencies } from './question/currencies.ts';
import { type Context, type Interpretation, interpret, isUnderstoodAlone, maxLength, maxWords, withContext } from './question/interpret.ts';
import { withKeysByName } from './schema/schema.ts';
import { type Value, valueIndexOf } from './schema/value-index.ts';
import { type Data, type Rows, type Tool, toolData, type Unreadable } from './tools.ts';

/** The end of every answer, so that no reader mistakes it for that of a language model. */
export const signature = 'Answered by the built-in model; no language model is configured.';

export interface Question {
  readonly message: string;
  /** The same user's earlier messages, oldest first. */
  readonly earlier: readonly string[];
  /** JSON that a program gave beside the message; '' for none. */
  readonly context?: string;
  readonly output: Output;
  readonly tools: readonly Tool[];
  /** Names the organization's data source in its version, so that questions about it share an index of its values. */
  readonly source?: string | undefined;
  /** How numbers are written, as `de-DE`; the context's `locale` comes before it. */
  readonly locale?: string | undefined;
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
export async function answerQuestion(question: Question, signal: AbortSignal): Promise<AnalystAnswer> {
  const data = toolData(question.tools, signal);
  const reply = data
    ? await analyse(question, data)
    : messageReply('No business data is connected to this agent, so there is nothing to look up.');
  const { outcome, result } = reply;
  return { content: addSignature(reply, question.output.format), outcome, ...(result && { result }) };
}

/** An answer in JSON is one block and nothing else. */
const addSignature = ({ text, members }: Reply, format: Output['format']): string =>
  format === 'json' ? fencedBlock('json', { ...members, model: 'built-in', note: signature }) : `${text}\n\n${signature}`;

const unreadable = ({ error }: Unreadable): Reply => messageReply(`The data could not be read: ${error}`, 'unreadable');

/** Small talk, and questions about the answerer. */
const talk =
  /^\W*(hi|hello|hey|hallo|good (morning|afternoon|evening|day)|thanks|thank you|cheers|help|help me|what can (you|i) (do|ask)|what do you (do|know|understand)|who are you|what are you|how does this work|how can you help)\W*$/i;

/** Answers a question about the data with one query, or lists questions that it understands. Never throws for any text. */
async function analyse(question: Question, data: Data): Promise<Reply> {
  const read = await data.tables();
  if ('error' in read) return unreadable(read);
  if (read.schema.length === 0) return messageReply('No table is in the scope of this agent, so there is nothing to look up.');
  const index = await valueIndexOf(question.source, read.schema, data);
  if ('error' in index) return unreadable(index);
  const schema = withKeysByName(read.schema, index.hasUniqueIds);
  const vocabulary = vocabularyOf(schema, index);
  const { message } = question;
  const hasContext = (question.context ?? '') !== '';
  const meaning = await interpret(message, question.earlier, vocabulary, hasContext);
  const { intent, tiles } = meaning;
  const explained = (reason: string): Reply => {
    const questions = examplesOf(vocabulary, tiles, (text) => isUnderstoodAlone(text, vocabulary));
    const listed = questions.map((one) => `- ${one}`).join('\n');
    return {
      outcome: 'refused',
      text: `${reason}. I understand questions such as:\n\n${listed}`,
      members: { message: `${reason}.`, questions },
    };
  };
  if (meaning.isTooLong) return explained(tooLong);
  if (talk.test(message)) return explained('I answer questions about the tables that this agent can see');
  const catalog = catalogReply(tiles, schema, question.output);
  if (catalog) return catalog;
  if (meaning.foretells) return explained('That asks about the future: I look up what is in the data and make no forecasts');
  if (!intent) return explained([doubtOf(meaning), read.missing].filter(Boolean).join('. '));
  const context = withContext(intent, question.context ?? '', schema, index);
  const pronoun = tiles.find(({ tags, words }) => tags.includes('pronoun') && /^(they|them|their|those|these)/.test(words[0]?.lower ?? ''));
  const explainsPronoun = meaning.continues || context.used.length > 0 || isUnderstoodAlone(message, vocabulary);
  if (pronoun && !explainsPronoun) return explained(`I do not know what “${pronoun.words[0]?.text}” means here`);
  const mixed = await checkCurrencies(context.intent, vocabulary, data);
  if (typeof mixed === 'object') return unreadable(mixed);
  return mixed === undefined ? await answer(context, meaning, { question, data, vocabulary }) : explained(mixed);
}

/** As `mixedCurrencies`; where the index has only a sample of the currencies, those of the rows that count are read. */
async function checkCurrencies(intent: Intent, vocabulary: Vocabulary, data: Data): Promise<Unreadable | string | undefined> {
  const beside = currenciesBeside(intent, vocabulary);
  if (!beside || beside.isSeparate || beside.isWhole || beside.listed.length > 1) return mixedCurrencies(beside);
  const { table, column } = beside;
  const rows: Intent = {
    ...groupedBy(intent, table, column.name, undefined),
    shape: 'figure',
    operation: 'count',
    quantity: undefined,
    distinct: undefined,
    share: false,
    rate: undefined,
    having: undefined,
    ofGroups: undefined,
  };
  const result = await data.prepare(statementOf(rows, vocabulary.schema).sql);
  if ('error' in result) return result;
  return mixedCurrencies({ ...beside, listed: result.rows.flatMap(([currency]) => currency ?? []) });
}

const tooLong = `The question is too long: I take at most ${maxWords} words and ${maxLength.toLocaleString('en')} characters into account`;

/** Why an answer would mislead: the words that nothing accounts for, and what was understood. */
function doubtOf({ unused, partly, tiles }: Interpretation): string {
  const understood = partly && unused.length < tiles.length ? `. I understood: ${understoodOf(partly)}` : '';
  if (unused.length === 0) return `I did not understand that as a question about the data that I can see${understood}`;
  const names = unused.map(({ words, values }) => `“${words.map(({ text }) => text).join(' ')}”${columnsWith(values)}`);
  return `I could not place ${names.join(', ')}${understood}`;
}

const maxColumnsNamed = 3;

/** The columns of one table that hold a value, where several do and none is named. */
function columnsWith(values: readonly Value[]): string {
  const isOneOfSeveral = (a: Value) => values.some((b) => b.table === a.table && b.column !== a.column);
  const columns = [...new Set(values.filter(isOneOfSeveral).map(columnTitle))];
  return columns.length < 2 || columns.length > maxColumnsNamed ? '' : ` (${columns.join(' or ')})`;
}

interface Scene {
  readonly question: Question;
  readonly data: Data;
  readonly vocabulary: Vocabulary;
}

async function answer(context: Context, { continues, why }: Interpretation, { question, data, vocabulary }: Scene): Promise<Reply> {
  const explained = why ? await explainChange(context.intent, vocabulary, data) : undefined;
  if (explained && 'error' in explained) return unreadable(explained);
  const intent = explained ?? context.intent;
  const { sql, titles, ranked } = statementOf(intent, vocabulary.schema);
  const result = await data.query(sql);
  if ('error' in result) return unreadable(result);
  const rows = result.rows.slice(0, intent.limit).map((row) => row.slice(0, titles.length));
  const extra = (result.rows[0]?.slice(titles.length) ?? []).map(String);
  const isList = intent.shape === 'list';
  const truncated = isCut(intent, result);
  const locale = localeOf(question);
  const page = { columns: titles, rows, truncated, ...(isList && { rowCount: Number(extra[0] ?? rows.length) }) };
  const [days, today] = [extra.slice(isList ? 2 : 0, -1), extra.at(-1) ?? ''];
  const about = {
    counted: describeIntent(intent, days),
    assumed: [
      ...intent.assumed,
      ...keysAssumed(intent, vocabulary.schema),
      ...absentAssumed(intent, vocabulary.schema),
      ...(continues ? ['this continues your question before'] : []),
      ...context.used.map((used) => `${used}, from the context`),
    ],
    notes: [
      ...differenceOf(intent, page, locale),
      ...tiedOf(intent, result.rows, ranked),
      ...(isList ? [] : unfinishedOf(intent, today, days)),
      ...unusedOf(context),
    ],
    groups: isList || intent.ofGroups ? 0 : intent.dimensions.length,
    locale,
  };
  return present(page, about, question.output);
}

const maxUnusedNamed = 30;

function unusedOf({ unused }: Context): string[] {
  const more = unused.length - maxUnusedNamed;
  const names = unused.slice(0, maxUnusedNamed).join(', ');
  return unused.length > 0 ? [`The context's ${names}${more > 0 ? ` and ${more} more` : ''} had no effect on the figures`] : [];
}

/** There are more rows than the answer shows, unless the question asks for so many. */
const isCut = ({ limit, limited }: Intent, { rows, truncated }: Rows): boolean =>
  limited ? truncated && rows.length < limit : truncated || rows.length > limit;

/** The last of the rows that were asked for has others beside it. */
function tiedOf({ limit, limited }: Intent, rows: Rows['rows'], ranked: number | undefined): string[] {
  const [last, next] = [rows[limit - 1], rows[limit]].map((row) => (ranked === undefined ? undefined : row?.[ranked]));
  if (!limited || last === undefined || last === null || next === undefined || next === null) return [];
  if (withoutZeros(last) !== withoutZeros(next)) return [];
  return [
    limit === 1 ? 'It is not the only one: there are others with the same figure' : 'There are others with the same figure as the last one',
  ];
}

/** 50 and 50.0 are the same figure; numbers of JavaScript would also make one of large figures that differ. */
const withoutZeros = (figure: string): string => figure.replace(/(\.\d*[1-9])0+$|\.0+$/, '$1');

/** The difference of two spans in words. */
function differenceOf({ versus, dimensions }: Intent, { rows, columns }: Result, locale: string): string[] {
  const [now, before, difference, percent] = rows[0] ?? [];
  if (!versus || dimensions.length > 0 || now === undefined || before === undefined || difference === undefined) return [];
  const signed = Number(difference) > 0 ? '+' : '';
  const change = percent === null || percent === undefined ? '' : ` (${signed}${displayCell(percent, columns[3], locale)} %)`;
  return [`Difference: ${signed}${displayCell(difference, columns[2], locale)}${change}`];
}

const standard = 'en';

/** The locale of the context, else of the setting; an unknown one is passed over. */
function localeOf({ context = '', locale }: Question): string {
  for (const tag of [localeOfContext(context), locale]) {
    try {
      const [known] = typeof tag !== 'string' ? [] : Intl.NumberFormat.supportedLocalesOf(tag);
      if (known) return known;
    } catch {
      // Not a tag of a language; the next one counts.
    }
  }
  return standard;
}

/** A locale inside of a record of the context is about that record. */
function localeOfContext(context: string): unknown {
  try {
    return JSON.parse(context)?.locale;
  } catch {
    return undefined;
  }
}
