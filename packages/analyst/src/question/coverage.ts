import { columnSynonyms, verbs } from '../schema/columns.ts';
import { beginsGroups } from '../schema/dimensions.ts';
import { mentionedTables, namesOf } from '../schema/measures.ts';
import { pathTo } from '../schema/schema.ts';
import type { Hit } from '../schema/values.ts';
import { grainOf, isComparison, numberOf, periodsOf, spokenPeriods } from '../words/periods.ts';
import { countsOnce, indexOfStems, isAsking, isBearing, isNegation, stemOf, stemsOfName, type Word, wordsOf } from '../words/words.ts';
import type { Filtered } from './filters.ts';
import type { Figure, Intent } from './intent.ts';
import { comparisonOf, topOf, wordsOfChange, wordsOfComparison, wordsOfShare } from './question-words.ts';

/** The words of a question that have no effect on an intent, so that the answer can name them. */
export function unplacedIn(intent: Intent, question: Filtered): Word[] {
  const placed = placedStems(intent, question);
  const isNegated =
    intent.without !== undefined || intent.hits.some(({ excluded }) => excluded) || intent.conditions.some(({ negates }) => negates);
  const numbers = numbersOf(intent, question.words);
  const understood = wordsOfPhrases(intent, question.words);
  return question.words.filter((word, at) => {
    if (isNegation(word)) return !isNegated && !placed.has(word.stem);
    if (understood.has(at)) return false;
    if (isNumber(word)) return !numbers.some((number) => number === word.lower || number === String(numberOf(word.lower)));
    const isApplied = appliesWord(word, at, intent, question.words);
    if (isApplied !== undefined) return !isApplied;
    if (placed.has(word.stem) || placed.has(word.lower)) return false;
    return isBearing(word) ? !bears(word, intent, question.words) : !isAsking(word) || countsBeside(word, intent);
  });
}

const isNumber = (word: Word) => /^\d/.test(word.lower) || (numberOf(word.lower) !== undefined && !isAsking(word));

/** Positions of the words that became a span of time, a comparison or a criterion of groups. */
function wordsOfPhrases(intent: Intent, words: readonly Word[]): Set<number> {
  const comparison = comparisonOf(words);
  const compared = intent.comparison ?? (intent.kind === 'figure' ? intent.having : undefined);
  const range = comparison && compared ? Array.from({ length: comparison.end - comparison.at }, (_, offset) => comparison.at + offset) : [];
  const spans = spokenPeriods(words)
    .slice(0, spansIn(intent))
    .flatMap(({ positions }) => positions);
  const around = spans.flatMap((at) => beforeSpan(words, at));
  const times = intent.kind === 'figure' && intent.dimensions.some(({ kind }) => kind === 'time');
  const grains = times ? words.flatMap((word, at) => (grainOf(word) && isOfGroups(words, at) ? [at] : [])) : [];
  return new Set([...range, ...spans, ...around, ...grains]);
}

/** How many of the spans that the words name are in the intent. */
function spansIn(intent: Intent): number {
  const span = intent.span ?? intent.without?.span;
  if (!span) return 0;
  const isTwo = span.period.joined === true || (intent.kind === 'figure' && isBeside(intent));
  return isTwo ? 2 : 1;
}

/** True for a comparison of two spans; groups by time are not comparable. */
const isBeside = ({ versus, dimensions }: Figure) => versus !== undefined && !dimensions.some(({ kind }) => kind === 'time');

/** `over the last 30 days`, `revenue through last month` */
function beforeSpan(words: readonly Word[], at: number): number[] {
  const from = words[at - 1]?.lower === 'the' ? at - 2 : at - 1;
  return words[from]?.lower === 'over' ? [from] : [];
}

/** `by month`, `each week`, `monthly`, `which month` */
const isOfGroups = (words: readonly Word[], at: number) =>
  /ly$/.test(words[at]?.lower ?? '') ||
  words.slice(Math.max(0, at - 4), at).some(beginsGroups) ||
  words.slice(Math.max(0, at - 2), at).some(({ lower }) => /^(which|what|top|best|worst)$/.test(lower));

/** True when the intent does what a word such as `between` or `or` says. */
function bears({ lower }: Word, intent: Intent, words: readonly Word[]): boolean {
  const figure = intent.kind === 'figure' ? intent : undefined;
  const isBeside = figure?.versus !== undefined || (figure?.dimensions.length === 1 && intent.hits.length > 1);
  if (lower === 'than' || lower === 'between') return isBeside && isComparison(words);
  if (lower === 'or')
    return Map.groupBy(intent.hits, ({ table, column }) => `${table}.${column}`)
      .values()
      .some(({ length }) => length > 1);
  return /^(first|last)$/.test(lower) && intent.kind === 'list';
}

/** The average number of orders is not the average of their totals. */
const countsBeside = ({ lower }: Word, intent: Intent) =>
  /^(number|many|count|counts)$/.test(lower) && intent.kind === 'figure' && !['count', 'sum'].includes(intent.operation);

function placedStems(intent: Intent, { schema, concept, words }: Filtered): Set<string> {
  const { base, hits, conditions, span, day, without } = intent;
  const figure = intent.kind === 'figure' ? intent : undefined;
  const tables = [base.name, ...hits.map(({ table }) => table), ...(without ? [without.table.name] : []), ...reached()];
  const columns = [
    ...hits.map(({ column }) => column),
    ...conditions.filter(({ isNamed }) => isNamed).map(({ column }) => column),
    ...(figure?.dimensions ?? []).flatMap((dimension) => (dimension.kind === 'column' ? [dimension.column] : [])),
    ...(intent.kind === 'list' && intent.orderBy ? [intent.orderBy.column] : []),
    ...[span?.column, without?.span?.column].filter((column) => column !== undefined),
    ...(figure?.dimensions.some(({ kind }) => kind === 'time') && day ? [day.column] : []),
    ...(figure?.amount?.column === undefined ? [] : [figure.amount.column]),
    ...(intent.compared ? [intent.compared.name] : []),
  ];
  const label = wordsOf(figure?.amount?.label ?? '').map(({ stem }) => stem);
  const names = [...label, ...tables.flatMap((name) => mentionedNames(name, words)), ...columns.flatMap(stemsOfName)];
  const colloquial = columns.flatMap((column) => [
    ...verbs(column),
    ...(columnSynonyms.get(column) ?? []).flatMap((phrase) => phrase.split(' ')),
  ]);
  return new Set([
    ...(figure ? waysOf(figure, words) : []),
    ...concept,
    ...names,
    ...colloquial.map(stemOf),
    ...colloquial,
    ...hits.flatMap(valueStems),
  ]);

  /** Tables whose rows the base refers to: `payments from customers`. */
  function reached(): string[] {
    return mentionedTables(words, schema).flatMap(({ table }) => (pathTo(schema, base, table.name) ? [table.name] : []));
  }
}

/** A table's name of several words counts only as a whole: `manager` is not `account manager`. */
const mentionedNames = (name: string, words: readonly Word[]) => [
  ...stemsOfName(name),
  ...namesOf(name)
    .filter((stems) => indexOfStems(words, stems) >= 0)
    .flat(),
];

/** The words for the operations of a figure. */
function waysOf(figure: Figure, words: readonly Word[]): string[] {
  const { distinct, operation, share, rate, change, dimensions, hits } = figure;
  const comparesGroups = dimensions.length > 0 && figure.versus === undefined && (!namesOther(words) || hits.length > 1);
  return [
    ...(distinct ? countsOnce : []),
    ...(operation === 'median' ? ['median'] : []),
    ...(share || rate ? wordsOfShare : []),
    ...(change && isBeside(figure) ? wordsOfChange : []),
    ...(isBeside(figure) || comparesGroups ? wordsOfComparison : []),
  ];
}

const valueStems = ({ value }: Hit) => wordsOf(value).flatMap(({ lower, stem }) => [lower, stem]);

const periodLabels = ({ span, without, ...intent }: Intent): string[] =>
  [span?.period.label, without?.span?.period.label, 'versus' in intent ? intent.versus?.label : undefined].filter(
    (label) => label !== undefined,
  );

function numbersOf(intent: Intent, words: readonly Word[]): string[] {
  const having = intent.kind === 'figure' ? intent.having?.number : undefined;
  const numbers = [intent.comparison?.number, intent.comparison?.to, having, intent.limited ? topOf(words) : undefined];
  const texts = [...periodLabels(intent), ...intent.hits.map(({ value }) => value)];
  return [
    ...numbers.filter((number) => number !== undefined).map(String),
    ...texts.flatMap((text) => wordsOf(text).map(({ lower }) => lower)),
  ];
}

export interface Doubts {
  /** Names that are not in the data. */
  readonly names: readonly string[];
  /** Words such as `never`, which would negate the answer. */
  readonly negations: readonly string[];
  /** Words by which rows should be grouped. */
  readonly groups: readonly string[];
  readonly others: readonly string[];
}

/** Classifies the words that the intent does not use; neighbouring names count as one. */
export function doubtsOf(unplaced: readonly Word[], words: readonly Word[]): Doubts {
  const doubts = { names: [] as string[], groups: [] as string[], others: [] as string[] };
  const tellsNames = namesStandOut(words);
  for (const [at, word] of words.entries()) {
    if (!unplaced.includes(word) || isNegation(word)) continue;
    const before = words[at - 1];
    if (before && beginsGroups(before)) doubts.groups.push(word.text);
    else if (before && tellsNames && startsHigh(word.text)) addName(doubts.names, word, unplaced.includes(before) ? before : undefined);
    else doubts.others.push(word.text);
  }
  return { ...doubts, negations: unplaced.filter(isNegation).map(({ text }) => text) };
}

function addName(names: string[], word: Word, before: Word | undefined): void {
  const last = names.at(-1);
  if (before && last?.endsWith(before.text)) names.splice(-1, 1, `${last} ${word.text}`);
  else names.push(word.text);
}

/** False for a question in which most words have a capital. */
const namesStandOut = (words: readonly Word[]) =>
  words.length <= 4 || words.filter(({ text }) => startsHigh(text)).length <= words.length / 2;

const startsHigh = (text: string) => /^\p{Lu}/u.test(text);

const inOrder = {
  newest: /^(latest|newest|recent|recently)$/,
  oldest: /^(oldest|earliest)$/,
  most: /^(top|best|highest|largest|biggest|greatest|longest|strongest|most|maximum|max|priciest)$/,
  least: /^(bottom|worst|lowest|smallest|fewest|least|slowest|shortest|minimum|min|cheapest)$/,
  ascending: /^ascending$/,
} as const;
type Order = keyof typeof inOrder;
const orders = Object.keys(inOrder) as Order[];

/** For words that order, average or compare: true when the intent does what the word says. Undefined for other words. */
function appliesWord(word: Word, at: number, intent: Intent, words: readonly Word[]): boolean | undefined {
  if (namesData(word, intent)) return undefined;
  const { lower } = word;
  const order =
    lower === 'most' && words[at + 1]?.lower === 'recent' ? 'newest' : orders.find((candidate) => inOrder[candidate].test(lower));
  if (order) return isInOrder(order, intent);
  if (/^(average|avg|mean|typical)$/.test(lower)) return intent.kind === 'figure' && intent.operation === 'avg';
  if (/^(more|less|fewer|greater|higher|lower|larger)$/.test(lower)) return intent.kind === 'figure' && intent.versus !== undefined;
  if (/^(per|each|every)$/.test(lower)) return intent.kind === 'list' || intent.dimensions.length > 0;
  return undefined;
}

function isInOrder(order: Order, intent: Intent): boolean {
  if (intent.kind === 'figure') return isRanked(order, intent);
  const { orderBy, base } = intent;
  if (!orderBy) return false;
  const byDay = base.columns.some(({ name, kind }) => name === orderBy.column && kind === 'date');
  if (order === 'ascending') return !orderBy.descending;
  if (order === 'newest' || order === 'oldest') return byDay && orderBy.descending === (order === 'newest');
  return !byDay && orderBy.descending === (order === 'most');
}

function isRanked(requested: Order, { operation, dimensions, order, limited }: Figure): boolean {
  if (requested === 'newest' || requested === 'oldest') return false;
  if (requested === 'ascending') return dimensions.length > 0 && order !== 'most';
  if (operation === (requested === 'most' ? 'max' : 'min')) return true;
  return dimensions.length > 0 && limited && order === requested;
}

/** `Best Western`, `maximum_stock` */
function namesData({ lower, stem }: Word, intent: Intent): boolean {
  const columns = [
    ...(intent.kind === 'figure' ? [intent.amount?.column, intent.compared?.name] : [intent.orderBy?.column, intent.compared?.name]),
    ...(intent.kind === 'figure' ? intent.dimensions.flatMap((one) => (one.kind === 'column' ? [one.column] : [])) : []),
  ].filter((column) => column !== undefined);
  const values = intent.hits.flatMap(({ value }) => wordsOf(value).map((one) => one.lower));
  return values.includes(lower) || columns.some((column) => stemsOfName(column).includes(stem));
}

const joins = /^(with|against|to|than|vs|versus)$/;
const between = /^(the|that|those|of|in|for|all)$/;

/** `by month compared with last year` asks for a second figure, `compare revenue by channel` does not. */
function namesOther(words: readonly Word[]): boolean {
  if (periodsOf(words).length === 0) return false;
  return spokenPeriods(words).some(({ positions: [first = 0] }) => {
    let before = first - 1;
    while (between.test(words[before]?.lower ?? '')) before -= 1;
    return joins.test(words[before]?.lower ?? '');
  });
}
