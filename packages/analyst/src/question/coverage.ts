import { near, verbs } from '../schema/columns.ts';
import { beginsGroups } from '../schema/dimensions.ts';
import { mentionedTables, namesOf } from '../schema/measures.ts';
import { pathTo } from '../schema/schema.ts';
import type { Hit } from '../schema/values.ts';
import { grainOf, isComparison, numberOf, periodsOf, spokenPeriods } from '../words/periods.ts';
import { countsOnce, indexOfStems, isAsking, isBearing, isTurning, stemOf, stemsOfName, type Word, wordsOf } from '../words/words.ts';
import type { Filtered } from './filters.ts';
import type { Figure, Intent } from './intent.ts';
import { comparisonOf, topOf, wordsOfChange, wordsOfComparison, wordsOfShare } from './question-words.ts';

/** The words of a question that an intent says nothing of, so that none is passed over in silence. */
export function unplacedIn(intent: Intent, question: Filtered): Word[] {
  const placed = placedStems(intent, question);
  const turned =
    intent.without !== undefined || intent.hits.some(({ excluded }) => excluded) || intent.conditions.some(({ turns }) => turns);
  const numbers = numbersOf(intent, question.words);
  const understood = wordsOfPhrases(intent, question.words);
  return question.words.filter((word, at) => {
    if (isTurning(word)) return !turned && !placed.has(word.stem);
    if (understood.has(at)) return false;
    if (isNumber(word)) return !numbers.some((number) => number === word.lower || number === String(numberOf(word.lower)));
    const kept = keepsWord(word, at, intent, question.words);
    if (kept !== undefined) return !kept;
    if (placed.has(word.stem) || placed.has(word.lower)) return false;
    return isBearing(word) ? !bears(word, intent, question.words) : !isAsking(word) || countsBeside(word, intent);
  });
}

const isNumber = (word: Word) => /^\d/.test(word.lower) || (numberOf(word.lower) !== undefined && !isAsking(word));

/** Where the words stand that became a span of time, a comparison or what rows are put together by. */
function wordsOfPhrases(intent: Intent, words: readonly Word[]): Set<number> {
  const said = comparisonOf(words);
  const compared = intent.comparison ?? (intent.kind === 'figure' ? intent.having : undefined);
  const range = said && compared ? Array.from({ length: said.end - said.at }, (_, offset) => said.at + offset) : [];
  const spans = spokenPeriods(words)
    .slice(0, spansIn(intent))
    .flatMap(({ places }) => places);
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

/** Months of one year set beside the days of another would say nothing. */
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

/** A word that bears on the answer has a place where the intent does what it says. */
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
    ...conditions.filter(({ asked }) => asked).map(({ column }) => column),
    ...(figure?.dimensions ?? []).flatMap((dimension) => (dimension.kind === 'column' ? [dimension.column] : [])),
    ...(intent.kind === 'list' && intent.orderBy ? [intent.orderBy.column] : []),
    ...[span?.column, without?.span?.column].filter((column) => column !== undefined),
    ...(figure?.dimensions.some(({ kind }) => kind === 'time') && day ? [day.column] : []),
    ...(figure?.amount?.column === undefined ? [] : [figure.amount.column]),
    ...(intent.compared ? [intent.compared.name] : []),
  ];
  const label = wordsOf(figure?.amount?.label ?? '').map(({ stem }) => stem);
  const names = [...label, ...tables.flatMap((name) => saidNames(name, words)), ...columns.flatMap(stemsOfName)];
  const said = columns.flatMap((column) => [...verbs(column), ...(near.get(column) ?? []).flatMap((phrase) => phrase.split(' '))]);
  return new Set([
    ...(figure ? waysOf(figure, words) : []),
    ...concept,
    ...names,
    ...said.map(stemOf),
    ...said,
    ...hits.flatMap(valueStems),
  ]);

  /** Tables whose rows the base refers to: `payments from customers`. */
  function reached(): string[] {
    return mentionedTables(words, schema).flatMap(({ table }) => (pathTo(schema, base, table.name) ? [table.name] : []));
  }
}

/** A table's name of several words counts only as a whole: a manager is no account manager. */
const saidNames = (name: string, words: readonly Word[]) => [
  ...stemsOfName(name),
  ...namesOf(name)
    .filter((stems) => indexOfStems(words, stems) >= 0)
    .flat(),
];

/** The words for what is done with the rows. */
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
  /** Names that stand nowhere in the data. */
  readonly names: readonly string[];
  /** Words such as `never`, which would turn the answer round. */
  readonly turning: readonly string[];
  /** Words by which rows should be grouped. */
  readonly groups: readonly string[];
  readonly others: readonly string[];
}

/** Classifies the words that the intent does not use; neighbouring names count as one. */
export function doubtsOf(unplaced: readonly Word[], words: readonly Word[]): Doubts {
  const doubts = { names: [] as string[], groups: [] as string[], others: [] as string[] };
  const tellsNames = namesStandOut(words);
  for (const [at, word] of words.entries()) {
    if (!unplaced.includes(word) || isTurning(word)) continue;
    const before = words[at - 1];
    if (before && beginsGroups(before)) doubts.groups.push(word.text);
    else if (before && tellsNames && startsHigh(word.text)) addName(doubts.names, word, unplaced.includes(before) ? before : undefined);
    else doubts.others.push(word.text);
  }
  return { ...doubts, turning: unplaced.filter(isTurning).map(({ text }) => text) };
}

function addName(names: string[], word: Word, before: Word | undefined): void {
  const last = names.at(-1);
  if (before && last?.endsWith(before.text)) names.splice(-1, 1, `${last} ${word.text}`);
  else names.push(word.text);
}

/** In a question where every word has a capital it says nothing. */
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

/** Words that order, average or compare: whether the intent does what one says; undefined for other words. */
function keepsWord(word: Word, at: number, intent: Intent, words: readonly Word[]): boolean | undefined {
  if (namesData(word, intent)) return undefined;
  const { lower } = word;
  const said = lower === 'most' && words[at + 1]?.lower === 'recent' ? 'newest' : orders.find((order) => inOrder[order].test(lower));
  if (said) return isInOrder(said, intent);
  if (/^(average|avg|mean|typical)$/.test(lower)) return intent.kind === 'figure' && intent.operation === 'avg';
  if (/^(more|less|fewer|greater|higher|lower|larger)$/.test(lower)) return intent.kind === 'figure' && intent.versus !== undefined;
  if (/^(per|each|every)$/.test(lower)) return intent.kind === 'list' || intent.dimensions.length > 0;
  return undefined;
}

function isInOrder(said: Order, intent: Intent): boolean {
  if (intent.kind === 'figure') return isRanked(said, intent);
  const { orderBy, base } = intent;
  if (!orderBy) return false;
  const byDay = base.columns.some(({ name, kind }) => name === orderBy.column && kind === 'date');
  if (said === 'ascending') return !orderBy.descending;
  if (said === 'newest' || said === 'oldest') return byDay && orderBy.descending === (said === 'newest');
  return !byDay && orderBy.descending === (said === 'most');
}

function isRanked(said: Order, { operation, dimensions, order, limited }: Figure): boolean {
  if (said === 'newest' || said === 'oldest') return false;
  if (said === 'ascending') return dimensions.length > 0 && order !== 'most';
  if (operation === (said === 'most' ? 'max' : 'min')) return true;
  return dimensions.length > 0 && limited && order === said;
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

/** `by month compared with last year` asks for something beside what is shown, `compare revenue by channel` for that alone. */
function namesOther(words: readonly Word[]): boolean {
  if (periodsOf(words).length === 0) return false;
  return spokenPeriods(words).some(({ places: [first = 0] }) => {
    let before = first - 1;
    while (between.test(words[before]?.lower ?? '')) before -= 1;
    return joins.test(words[before]?.lower ?? '');
  });
}
