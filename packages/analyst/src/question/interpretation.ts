import { amountOfColumn, dateColumn, mainNumber, mentionedNumber } from '../schema/columns.ts';
import type { Operation } from '../schema/concepts.ts';
import { beginsGroups, columnDimension, type Dimension, dimensionOf, dimensionsOf, labelColumn } from '../schema/dimensions.ts';
import {
  type Amount,
  type Condition,
  conceptMeasures,
  isSuperlative,
  type Measure,
  type Mention,
  mentionedTables,
} from '../schema/measures.ts';
import { columnOf, pathTo, type Schema, type Table } from '../schema/schema.ts';
import type { Hit } from '../schema/values.ts';
import { grainOf, inWhole, isComparison, lastToTheSameDay, numberOf, type Period, periodsOf, periodWords } from '../words/periods.ts';
import { countsOnce, has, type Word } from '../words/words.ts';
import { unplacedIn } from './coverage.ts';
import { type Filtered, filtersOf, spanOf, withoutOf } from './filters.ts';
import type { Comparison, Distinct, Figure, Intent, Listing } from './intent.ts';
import {
  asksForOne,
  asksForShare,
  type ComparisonPhrase,
  changeAsked,
  comparisonOf,
  isLeast,
  isListing,
  isOfTime,
  isOldest,
  isRanking,
  operationOf,
  topOf,
} from './question-words.ts';

const defaultTop = 5;
const mostGroups = 50;
const mostRows = 20;

interface Question extends Filtered {
  readonly mentions: readonly Mention[];
}

export interface Reading {
  readonly intent: Intent;
  /** The words that have no effect on it. */
  readonly unplaced: readonly Word[];
}

/** Interprets a question in the way that leaves the fewest words unused; undefined if it is not understood. */
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

/**
 * Removes the words of a concept, so that they name no table: `who is on leave` asks for people and not for the table of requests. In `our
 * best customers` they still name customers.
 */
function withoutConcept(words: readonly Word[], stems: readonly string[]): Word[] {
  const keeps = stems.length === 0 || isSuperlative(stems.join(' '));
  const at = keeps ? -1 : words.findIndex((_, index) => stems.every((stem, offset) => words[index + offset]?.stem === stem));
  return words.map((word, index) => (at >= 0 && index >= at && index < at + stems.length ? { ...word, stem: '', lower: '' } : word));
}

/** Measures without a business term: rows of a mentioned table, or of the table with a mentioned column. */
function plainMeasures(words: readonly Word[], schema: Schema, mentions: readonly Mention[]): Measure[] {
  const tables =
    mentions.length > 0 ? mentions.map(({ table }) => table) : schema.filter((table) => mentionedNumber(words, table)).slice(0, 1);
  return tables.map((base) => {
    const column = mentionedNumber(words, base);
    return { base, amount: column && amountOfColumn(base, column), operation: undefined, conditions: [] };
  });
}

function readAs(named: Measure, question: Question): Intent | undefined {
  const { words } = question;
  const ownComparison = comparisonOf(words);
  const quota = quotaOf(named.base, ownComparison, question);
  const phrase = quota || !countsOthers(named, ownComparison, question) ? ownComparison : undefined;
  const measure: Measure = quota ? { ...named, operation: 'count', amount: undefined } : named;
  const dimensions = quota ? [quota] : allDimensions(measure, question, phrase);
  const spans = spansOf(words);
  const perGroup = quota !== undefined || isOfGroups(phrase, dimensions, measure, question);
  const common = commonOf(measure, question, { dimensions, spans, comparison: perGroup ? undefined : phrase?.comparison });
  const asks = {
    grouped: dimensions.length > 0 || spans.versus !== undefined,
    namesRows: question.mentions.some(({ table }) => table === measure.base) && !has(words, 'how much'),
  };
  const operation = quota ? 'count' : operationOf(words, measure, asks);
  if (operation === undefined ? !listsBase(measure, question) : isOfSums(operation, measure, words)) return undefined;
  if (operation === undefined) return listing(common, words, namesOne(measure, question));
  const having = perGroup ? phrase?.comparison : undefined;
  return measuredBy(operation, { measure, question, common, dimensions, spans, having, quota: quota !== undefined });
}

interface MeasureOptions {
  readonly measure: Measure;
  readonly question: Question;
  readonly common: Common;
  readonly dimensions: readonly Dimension[];
  readonly spans: Spans;
  readonly having: Comparison | undefined;
  readonly quota: boolean;
}

function measuredBy(operation: Operation, options: MeasureOptions): Figure | undefined {
  const { measure, question, common, dimensions, spans, having, quota } = options;
  const amount = operation === 'count' ? undefined : (measure.amount ?? mainAmount(measure.base));
  if (operation !== 'count' && !amount) return undefined;
  const distinct = operation === 'count' && !quota && !having ? distinctOf(measure, question, dimensions) : undefined;
  const set = { amount, distinct, versus: common.span && spans.versus, change: spans.change, having };
  return figure({ ...common, dimensions, operation, ...set }, question.words);
}

/** `average revenue per month` may be that of the months as well as that of the orders in each. */
const isOfSums = (operation: Operation, measure: Measure, words: readonly Word[]) =>
  (operation === 'avg' || operation === 'median') &&
  measure.operation === 'sum' &&
  has(words, 'per', 'each', 'every', 'daily', 'weekly', 'monthly', 'quarterly', 'yearly');

/** `customers who ordered` asks for customers and not for a list of orders. */
const listsBase = ({ base }: Measure, { mentions, concept }: Question) =>
  concept.length > 0 || mentions.length === 0 || mentions[0]?.table === base;

/** `how many customers ordered`: the customers are counted, each once, and not their orders. */
function distinctOf({ base }: Measure, { words, schema }: Question, dimensions: readonly Dimension[]): Distinct | undefined {
  const mentions = mentionedTables(words, schema);
  const counted = mentions.find(({ at, table }) => table !== base && isCounted(words, at));
  if (!counted || !mentions.some(({ table, at }) => table === base && at > counted.at) || asksForShare(words)) return undefined;
  const key = pathTo(schema, base, counted.table.name)?.at(-1);
  const grouped = dimensions.some((dimension) => dimension.kind === 'column' && dimension.table === counted.table.name);
  const label = labelColumn(counted.table)?.name;
  const byItself = grouped && dimensions.some((dimension) => dimension.kind === 'column' && dimension.column === label);
  return key && !byItself ? { table: counted.table.name, column: key.references } : undefined;
}

/** `how many customers`, `number of different customers` */
function isCounted(words: readonly Word[], at: number): boolean {
  const before = words.slice(Math.max(0, at - 3), at).map(({ lower }) => lower);
  if (countsOnce.has(before.at(-1) ?? '')) return true;
  return /(how many|number of|count)( \S+)?$/.test(before.join(' '));
}

/** `the latest order`, unlike `the latest orders`. */
function namesOne({ base }: Measure, { words, mentions }: Question): boolean {
  const own = mentions.find(({ table }) => table === base);
  const noun = own && words[own.at + own.length - 1];
  return noun !== undefined && noun.lower === noun.stem;
}

interface CommonOptions {
  readonly dimensions: readonly Dimension[];
  readonly spans: Spans;
  readonly comparison: Comparison | undefined;
}

/** The rows that count. */
function commonOf(measure: Measure, question: Question, { dimensions, spans, comparison }: CommonOptions): Common {
  const { base } = measure;
  const { words } = question;
  const filters = filtersOf(question, base, dimensions);
  const without = withoutOf(question, base, spans.first);
  const time = dimensions.find(({ kind }) => kind === 'time');
  const span = without
    ? undefined
    : spanOf(question, base, spans.first && inWhole(spans.first, time?.kind === 'time' ? time.grain : undefined));
  const day = span ?? dateColumn(words, base, question.schema);
  return {
    base,
    hits: filters.used,
    conditions: [...conditionsOf(measure, filters.used), ...filters.conditions],
    span,
    day,
    comparison,
    compared: comparison && (mentionedNumber(words, base) ?? mainNumber(base)),
    without,
  };
}

interface Spans {
  readonly first: Period | undefined;
  readonly versus: Period | undefined;
  readonly change: boolean;
}

/** Two spans are compared; growth compares with the same days a year, or another named span, before. */
function spansOf(words: readonly Word[]): Spans {
  const [first, second] = periodsOf(words);
  const change = changeAsked(words);
  const both = first && second && meeting(first, second);
  if (both) return { first: both, versus: undefined, change: false };
  // Comparing a month with a whole year would mislead.
  if (second && first?.grain && second.grain && first.grain !== second.grain) return { first, versus: undefined, change: false };
  if (second) return { first, versus: second, change };
  const spans = change ? lastToTheSameDay(first) : undefined;
  return spans ? { first: spans.now, versus: spans.before, change } : { first, versus: undefined, change: false };
}

/** `after 2026-01-31 and before 2026-03-01` is one span. */
function meeting(a: Period, b: Period): Period | undefined {
  if (a.from !== undefined && a.to !== undefined) return undefined;
  if (a.from === undefined ? b.from === undefined || b.to !== undefined : b.to === undefined || b.from !== undefined) return undefined;
  return { label: `${a.label} and ${b.label}`, from: a.from ?? b.from, to: a.to ?? b.to, joined: true };
}

/** `customers with more than 10 orders`: counts the orders of each customer. */
function quotaOf(base: Table, phrase: ComparisonPhrase | undefined, { words, schema, mentions }: Question): Dimension | undefined {
  const own = mentions.find(({ table }) => table === base);
  const of = mentions.find(({ table, at }) => table !== base && own !== undefined && at < own.at);
  const counts = phrase?.end === own?.at || (phrase?.times === true && phrase.at > (own?.at ?? phrase.at));
  // Customers without orders have no rows to count.
  const withNone = phrase?.comparison.operator.startsWith('<') || phrase?.comparison.number === 0;
  if (!own || !of || !counts || withNone || !pathTo(schema, base, of.table.name)) return undefined;
  return dimensionOf(words.slice(of.at, of.at + of.length), base, schema);
}

/** `countries with more than 10 customers` is no condition on their revenue. */
function countsOthers({ base, amount, operation }: Measure, phrase: ComparisonPhrase | undefined, { words, schema }: Question): boolean {
  if (!phrase) return false;
  const [counted] = mentionedTables(words.slice(phrase.end), schema).filter(({ at }) => at === 0);
  const isOwn = counted?.table === base && (operation === 'count' || amount === undefined) && dimensionsOf(words, base, schema).length > 0;
  return phrase.times || (counted !== undefined && !isOwn);
}

/** `customers with revenue over 50000` compares the revenue of each customer, `orders over 1000 by channel` that of each order. */
function isOfGroups(
  phrase: ComparisonPhrase | undefined,
  dimensions: readonly Dimension[],
  { base }: Measure,
  { mentions }: Question,
): boolean {
  if (!phrase || dimensions.length === 0) return false;
  return !mentions.some(({ table, at, length }) => table === base && at + length === phrase.at);
}

function allDimensions(measure: Measure, question: Question, phrase: ComparisonPhrase | undefined): Dimension[] {
  const { words, schema } = question;
  const named = dimensionsOf(words, measure.base, schema);
  const timed = named.filter(({ kind }) => kind === 'column' || dateColumn(words, measure.base, schema) !== undefined);
  if (named.length > 0 || isListing(words)) return timed;
  return rankedColumn(measure, question) ?? rankedTable(measure, question, phrase !== undefined) ?? comparedValues(measure, question) ?? [];
}

/** The table whose rows are ranked by a measure of another: `top 5 customers by revenue`, `which supplier do we spend most with`. */
function rankedTable({ base, amount }: Measure, { words, schema, mentions }: Question, compared: boolean): Dimension[] | undefined {
  const other = mentions.find(({ table }) => table !== base && pathTo(schema, base, table.name) !== undefined);
  const asksForSome = amount !== undefined && (has(words, 'which', 'who') || compared);
  if (!other || !(isRanking(words) || asksForSome)) return undefined;
  const dimension = dimensionOf(words.slice(other.at, other.at + other.length + 1), base, schema);
  return dimension && [dimension];
}

/** `which country has the highest revenue`, `top 3 channels by revenue` */
function rankedColumn({ base, amount }: Measure, { words, schema }: Question): Dimension[] | undefined {
  if (!isRanking(words) || (amount === undefined && !has(words, 'most', 'fewest', 'least'))) return undefined;
  const at = words.findIndex(({ lower }) => /^(which|what|top|best|bottom|worst)$/.test(lower));
  if (at < 0) return undefined;
  const from = topOf(words) !== undefined && words[at + 1] !== undefined && numberOf(words[at + 1]?.lower) !== undefined ? at + 2 : at + 1;
  const grain = dateColumn(words, base, schema) && grainOf(words[from]);
  const dimension = grain ? { kind: 'time' as const, grain } : columnDimension(words.slice(from, from + 3), base, schema);
  return dimension && [dimension];
}

/** `compare web and phone revenue`: one group for each of two values of a column. */
function comparedValues({ base }: Measure, question: Question): Dimension[] | undefined {
  if (!isComparison(question.words)) return undefined;
  const groups = Map.groupBy(filtersOf(question, base, []).used, ({ table, column }) => `${table}.${column}`);
  const several = [...groups.values()].find((group) => group.length > 1)?.[0];
  return several && [{ kind: 'column', table: several.table, column: several.column, type: 'text' }];
}

/** A status that the question names replaces the default condition on the status. */
const conditionsOf = ({ conditions }: Measure, hits: readonly Hit[]): Condition[] =>
  conditions.filter(({ table, column }) => !hits.some((hit) => hit.table === table && hit.column === column && !hit.excluded));

const mainAmount = (table: Table): Amount | undefined => {
  const column = mainNumber(table);
  return column && amountOfColumn(table, column);
};

type Common = Omit<Listing, 'kind' | 'orderBy' | 'limit' | 'limited'>;
type Measured = Common &
  Pick<Figure, 'dimensions' | 'amount' | 'distinct' | 'versus' | 'change'> & { operation: Operation; having: Comparison | undefined };

/** `what percentage of orders is cancelled`: of all orders, and not of a sum. */
function isRate({ operation, amount, hits, base }: Measured, words: readonly Word[]): boolean {
  const ofRows = operation === 'count' || amount === undefined;
  return ofRows && asksForShare(words) && has(words, 'is', 'are', 'was', 'were') && hits.some(({ table }) => table === base.name);
}

function figure(measured: Measured, words: readonly Word[]): Figure {
  const overTime = measured.dimensions.some(({ kind }) => kind === 'time');
  const ranked = measured.dimensions.length > 0 && isRanking(words);
  const rate = isRate(measured, words);
  return {
    ...measured,
    kind: 'figure',
    rate,
    countGroups: measured.having !== undefined && has(words, 'how many', 'number of') && !words.some(beginsGroups),
    share:
      !rate &&
      asksForShare(words) &&
      measured.dimensions.length > 0 &&
      measured.operation !== 'avg' &&
      measured.operation !== 'median' &&
      measured.distinct === undefined &&
      !measured.versus,
    order: overTime && !ranked ? 'time' : isLeast(words) ? 'least' : 'most',
    limit: ranked ? rankedLimit(words) : (topOf(words) ?? mostGroups),
    limited: ranked || topOf(words) !== undefined,
  };
}

const rankedLimit = (words: readonly Word[], single = false) => topOf(words) ?? (asksForOne(words) || single ? 1 : defaultTop);

/** `the last order`, where the last month is a span of time. */
function isOfEnds(words: readonly Word[]): boolean {
  const spans = periodWords(words);
  return words.some(({ lower }, at) => /^(first|last)$/.test(lower) && !spans.has(at));
}

/** Lists by amount where the largest are asked for, else the newest first; what is due first where it is late. */
function listing(common: Common, words: readonly Word[], single: boolean): Listing {
  const ranked = isRanking(words) || isOfTime(words) || isOfEnds(words);
  return {
    ...common,
    kind: 'list',
    orderBy: listOrder(words, common),
    limit: ranked ? rankedLimit(words, single) : (topOf(words) ?? mostRows),
    limited: ranked || topOf(words) !== undefined,
  };
}

function listOrder(words: readonly Word[], { base, day }: Common): Listing['orderBy'] {
  const number = mentionedNumber(words, base) ?? mainNumber(base);
  if (isRanking(words) && !isOfTime(words) && number) return { column: number.name, descending: !isLeast(words) };
  const due = columnOf(base, 'due_on') ?? columnOf(base, 'expected_on');
  if (due && has(words, 'overdue', 'late', 'due')) return { column: due.name, descending: isOfTime(words) && !isOldest(words) };
  return day?.table === base.name ? { column: day.column, descending: !isOldest(words) } : undefined;
}
