import { asksForOne, comparisonOf, isLeast, isListing, isRanking, operationOf, topOf } from './asking.ts';
import { amountOfColumn, dateColumn, mainNumber, mentionedNumber } from './columns.ts';
import { type Dimension, dimensionOf, dimensionsOf } from './dimensions.ts';
import { type Filtered, filtersOf, spanOf } from './filters.ts';
import type { Figure, Intent, Listing } from './intent.ts';
import { type Amount, type Condition, conceptMeasures, type Measure, type Mention, mentionedTables, type Operation } from './measures.ts';
import { isComparison, periodsOf } from './periods.ts';
import { columnOf, pathTo, type Schema, type Table } from './schema.ts';
import type { Hit } from './values.ts';
import { has, type Word } from './words.ts';

const defaultTop = 5;
const mostGroups = 50;
const mostRows = 20;

interface Question extends Filtered {
  readonly mentions: readonly Mention[];
}

interface Reading {
  readonly intent: Intent;
  /** Everything that was asked for has its place in it. */
  readonly complete: boolean;
}

/** What a question asks for, or undefined where it is not understood. */
export function read(words: readonly Word[], schema: Schema, hits: readonly Hit[]): Intent | undefined {
  const { measures, stems } = conceptMeasures(words, schema);
  const mentions = mentionedTables(withoutConcept(words, measures.length > 0 ? stems : []), schema);
  const candidates = measures.length > 0 ? measures : plainMeasures(words, schema, mentions);
  const readings = candidates.flatMap((measure) => readAs(measure, { words, schema, hits, mentions, concept: stems }) ?? []);
  return (readings.find(({ complete }) => complete) ?? readings[0])?.intent;
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

function readAs(measure: Measure, question: Question): Reading | undefined {
  const { words, schema } = question;
  const { base } = measure;
  const dimensions = allDimensions(measure, question);
  const filters = filtersOf(question, base, dimensions);
  const [first, second] = periodsOf(words);
  const span = spanOf(question, base, first);
  const day = span ?? dateColumn(words, base, schema);
  const common = { base, hits: filters.used, conditions: conditionsOf(measure, filters.used), span, day, comparison: comparisonOf(words) };
  const grouped = dimensions.length > 0;
  const complete = (grouped || !has(words, 'by', 'per', 'for each', 'across')) && filters.unused === 0 && (!first || span !== undefined);
  const operation = operationOf(words, measure, grouped);
  if (operation === undefined) return { complete, intent: listing(common, words) };
  const amount = operation === 'count' ? undefined : (measure.amount ?? mainAmount(base));
  if (operation !== 'count' && !amount) return undefined;
  const versus = second && isComparison(words) && span ? second : undefined;
  return { complete, intent: figure({ ...common, dimensions, operation, amount, versus }, words) };
}

function allDimensions(measure: Measure, question: Question): Dimension[] {
  const { words, schema } = question;
  const asked = dimensionsOf(words, measure.base, schema);
  const timed = asked.filter(({ kind }) => kind === 'column' || dateColumn(words, measure.base, schema) !== undefined);
  if (asked.length > 0 || isListing(words)) return timed;
  return rankedTable(measure, question) ?? [];
}

/** The table whose rows are ranked by a measure of another: `top 5 customers by revenue`, `which supplier do we spend most with`. */
function rankedTable({ base, amount }: Measure, { words, schema, mentions }: Question): Dimension[] | undefined {
  const other = mentions.find(({ table }) => table !== base && pathTo(schema, base, table.name) !== undefined);
  if (!other || !(isRanking(words) || (has(words, 'which', 'who') && amount !== undefined))) return undefined;
  const dimension = dimensionOf(words.slice(other.at, other.at + other.length), base, schema);
  return dimension && [dimension];
}

/** A status that was asked for by name takes the place of one that usually is meant. */
const conditionsOf = ({ conditions }: Measure, hits: readonly Hit[]): Condition[] =>
  conditions.filter(({ table, column }) => !hits.some((hit) => hit.table === table && hit.column === column));

const mainAmount = (table: Table): Amount | undefined => {
  const column = mainNumber(table);
  return column && amountOfColumn(table, column);
};

type Common = Omit<Listing, 'kind' | 'orderBy' | 'limit'>;
type Measured = Common & Pick<Figure, 'dimensions' | 'amount' | 'versus'> & { operation: Operation };

function figure(measured: Measured, words: readonly Word[]): Figure {
  const overTime = measured.dimensions.some(({ kind }) => kind === 'time');
  const ranked = measured.dimensions.length > 0 && isRanking(words);
  return {
    ...measured,
    kind: 'figure',
    order: overTime ? 'time' : isLeast(words) ? 'least' : 'most',
    limit: ranked ? rankedLimit(words) : mostGroups,
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
  };
}

function listOrder(words: readonly Word[], { base, day }: Common): Listing['orderBy'] {
  const number = mentionedNumber(words, base) ?? mainNumber(base);
  if (isRanking(words) && number) return { column: number.name, descending: !isLeast(words) };
  const due = columnOf(base, 'due_on') ?? columnOf(base, 'expected_on');
  if (due && has(words, 'overdue', 'late', 'due')) return { column: due.name, descending: false };
  return day?.table === base.name ? { column: day.column, descending: !has(words, 'oldest', 'next', 'upcoming') } : undefined;
}
