import {
  asksForOne,
  asksForShare,
  changeAsked,
  comparisonOf,
  isLeast,
  isListing,
  isRanking,
  operationOf,
  type Said,
  topOf,
} from './asking.ts';
import { amountOfColumn, dateColumn, mainNumber, mentionedNumber } from './columns.ts';
import { unplacedIn } from './coverage.ts';
import { type Dimension, dimensionOf, dimensionsOf } from './dimensions.ts';
import { type Filtered, filtersOf, spanOf, withoutOf } from './filters.ts';
import type { Comparison, Figure, Intent, Listing } from './intent.ts';
import { type Amount, type Condition, conceptMeasures, type Measure, type Mention, mentionedTables, type Operation } from './measures.ts';
import { isComparison, lastToTheSameDay, type Period, periodsOf } from './periods.ts';
import { columnOf, pathTo, type Schema, type Table } from './schema.ts';
import type { Hit } from './values.ts';
import { has, type Word } from './words.ts';

const defaultTop = 5;
const mostGroups = 50;
const mostRows = 20;

interface Question extends Filtered {
  readonly mentions: readonly Mention[];
}

export interface Reading {
  readonly intent: Intent;
  /** The words that have no place in it. */
  readonly unplaced: readonly Word[];
}

/** What a question asks for, in the way that leaves the fewest words without a place; undefined where it is not understood. */
export function read(words: readonly Word[], schema: Schema, hits: readonly Hit[]): Reading | undefined {
  const { measures, stems } = conceptMeasures(words, schema);
  const mentions = mentionedTables(withoutConcept(words, measures.length > 0 ? stems : []), schema);
  const candidates = measures.length > 0 ? measures : plainMeasures(words, schema, mentions);
  const readings = candidates.flatMap((measure) => {
    const question = { words, schema, hits, mentions, concept: measures.length > 0 ? stems : [] };
    const intent = readAs(measure, question);
    return intent ? [{ intent, unplaced: unplacedIn(intent, question) }] : [];
  });
  return readings.toSorted((a, b) => a.unplaced.length - b.unplaced.length)[0];
}

/** The words of a concept name no table any more: who is on leave asks for people and not for the table of requests. */
function withoutConcept(words: readonly Word[], stems: readonly string[]): Word[] {
  const at = stems.length === 0 ? -1 : words.findIndex((_, index) => stems.every((stem, offset) => words[index + offset]?.stem === stem));
  return words.map((word, index) => (at >= 0 && index >= at && index < at + stems.length ? { ...word, stem: '', lower: '' } : word));
}

/** Measures without a name of business: rows of a mentioned table, or of the table with a mentioned column. */
function plainMeasures(words: readonly Word[], schema: Schema, mentions: readonly Mention[]): Measure[] {
  const tables =
    mentions.length > 0 ? mentions.map(({ table }) => table) : schema.filter((table) => mentionedNumber(words, table)).slice(0, 1);
  return tables.map((base) => {
    const column = mentionedNumber(words, base);
    return { base, amount: column && amountOfColumn(base, column), operation: undefined, conditions: [] };
  });
}

function readAs(given: Measure, question: Question): Intent | undefined {
  const { words } = question;
  const said = comparisonOf(words);
  const quota = quotaOf(given.base, said, question);
  const measure: Measure = quota ? { ...given, operation: 'count', amount: undefined } : given;
  const dimensions = quota ? [quota] : allDimensions(measure, question, said);
  const spans = spansOf(words);
  const perGroup = quota !== undefined || isOfGroups(said, dimensions, measure, question);
  const common = commonOf(measure, question, { dimensions, spans, comparison: perGroup ? undefined : said?.comparison });
  const asks = {
    grouped: dimensions.length > 0 || spans.versus !== undefined,
    namesRows: question.mentions.some(({ table }) => table === measure.base),
  };
  const operation = quota ? 'count' : operationOf(words, measure, asks);
  if (operation === undefined) return listing(common, words);
  const amount = operation === 'count' ? undefined : (measure.amount ?? mainAmount(measure.base));
  if (operation !== 'count' && !amount) return undefined;
  const versus = common.span && spans.versus;
  const having = perGroup ? said?.comparison : undefined;
  const countGroups = having !== undefined && has(words, 'how many', 'number of');
  return figure({ ...common, dimensions, operation, amount, versus, change: spans.change, having, countGroups }, words);
}

interface Parts {
  readonly dimensions: readonly Dimension[];
  readonly spans: Spans;
  readonly comparison: Comparison | undefined;
}

/** Which rows count. */
function commonOf(measure: Measure, question: Question, { dimensions, spans, comparison }: Parts): Common {
  const { base } = measure;
  const filters = filtersOf(question, base, dimensions);
  const without = withoutOf(question, base, spans.first);
  const span = without ? undefined : spanOf(question, base, spans.first);
  const day = span ?? dateColumn(question.words, base, question.schema);
  return { base, hits: filters.used, conditions: [...conditionsOf(measure, filters.used), ...filters.conditions], span, day, comparison, without };
}

interface Spans {
  readonly first: Period | undefined;
  readonly versus: Period | undefined;
  readonly change: boolean;
}

/** Two spans are set side by side; growth is measured against the same days a year, or whatever was said, before. */
function spansOf(words: readonly Word[]): Spans {
  const [first, second] = periodsOf(words);
  const change = changeAsked(words);
  if (second) return { first, versus: second, change: change || isComparison(words) };
  const spans = change ? lastToTheSameDay(first) : undefined;
  return spans ? { first: spans.now, versus: spans.before, change } : { first, versus: undefined, change: false };
}

/** `customers with more than 10 orders`: the orders are counted, each customer's apart. */
function quotaOf(base: Table, said: Said | undefined, { words, schema, mentions }: Question): Dimension | undefined {
  const own = mentions.find(({ table }) => table === base);
  const of = mentions.find(({ table, at }) => table !== base && own !== undefined && at < own.at);
  if (!own || !of || said?.end !== own.at || !pathTo(schema, base, of.table.name)) return undefined;
  return dimensionOf(words.slice(of.at, of.at + of.length), base, schema);
}

/** `customers with revenue over 50000` compares each customer's, `orders over 1000 by channel` each order's. */
function isOfGroups(said: Said | undefined, dimensions: readonly Dimension[], { base }: Measure, { mentions }: Question): boolean {
  if (!said || dimensions.length === 0) return false;
  return !mentions.some(({ table, at, length }) => table === base && at + length === said.at);
}

function allDimensions(measure: Measure, question: Question, said: Said | undefined): Dimension[] {
  const { words, schema } = question;
  const asked = dimensionsOf(words, measure.base, schema);
  const timed = asked.filter(({ kind }) => kind === 'column' || dateColumn(words, measure.base, schema) !== undefined);
  if (asked.length > 0 || isListing(words)) return timed;
  return rankedTable(measure, question, said !== undefined) ?? [];
}

/** The table whose rows are ranked by a measure of another: `top 5 customers by revenue`, `which supplier do we spend most with`. */
function rankedTable({ base, amount }: Measure, { words, schema, mentions }: Question, compared: boolean): Dimension[] | undefined {
  const other = mentions.find(({ table }) => table !== base && pathTo(schema, base, table.name) !== undefined);
  const asksForSome = amount !== undefined && (has(words, 'which', 'who') || compared);
  if (!other || !(isRanking(words) || asksForSome)) return undefined;
  const dimension = dimensionOf(words.slice(other.at, other.at + other.length), base, schema);
  return dimension && [dimension];
}

/** A status that was asked for by name takes the place of one that usually is meant. */
const conditionsOf = ({ conditions }: Measure, hits: readonly Hit[]): Condition[] =>
  conditions.filter(({ table, column }) => !hits.some((hit) => hit.table === table && hit.column === column && !hit.excluded));

const mainAmount = (table: Table): Amount | undefined => {
  const column = mainNumber(table);
  return column && amountOfColumn(table, column);
};

type Common = Omit<Listing, 'kind' | 'orderBy' | 'limit' | 'limited'>;
type Measured = Common &
  Pick<Figure, 'dimensions' | 'amount' | 'versus' | 'change' | 'countGroups'> & { operation: Operation; having: Comparison | undefined };

function figure(measured: Measured, words: readonly Word[]): Figure {
  const overTime = measured.dimensions.some(({ kind }) => kind === 'time');
  const ranked = measured.dimensions.length > 0 && isRanking(words);
  return {
    ...measured,
    kind: 'figure',
    share: asksForShare(words) && measured.dimensions.length > 0 && measured.operation !== 'avg' && !measured.versus,
    order: overTime ? (ranked ? 'most' : 'time') : isLeast(words) ? 'least' : 'most',
    limit: ranked ? rankedLimit(words) : (topOf(words) ?? mostGroups),
    limited: ranked || topOf(words) !== undefined,
  };
}

const rankedLimit = (words: readonly Word[]) => topOf(words) ?? (asksForOne(words) ? 1 : defaultTop);

/** Lists by amount where the largest are asked for, else the newest first; what is due first where it is late. */
function listing(common: Common, words: readonly Word[]): Listing {
  return {
    ...common,
    kind: 'list',
    orderBy: listOrder(words, common),
    limit: isRanking(words) ? rankedLimit(words) : (topOf(words) ?? mostRows),
    limited: isRanking(words) || topOf(words) !== undefined,
  };
}

function listOrder(words: readonly Word[], { base, day }: Common): Listing['orderBy'] {
  const number = mentionedNumber(words, base) ?? mainNumber(base);
  if (isRanking(words) && number) return { column: number.name, descending: !isLeast(words) };
  const due = columnOf(base, 'due_on') ?? columnOf(base, 'expected_on');
  if (due && has(words, 'overdue', 'late', 'due')) return { column: due.name, descending: false };
  return day?.table === base.name ? { column: day.column, descending: !has(words, 'oldest', 'next', 'upcoming', 'first') } : undefined;
}
