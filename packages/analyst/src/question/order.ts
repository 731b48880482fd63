import type { Candidate } from '../meaning/candidates.ts';
import type { Intent } from '../meaning/intent.ts';
import type { Pass } from '../meaning/pass.ts';
import type { Condition } from '../schema/expression.ts';
import { beginDate, birthDate, costColumn, datesOf, isMoney, isPlanned, mainNumber, priceColumn } from '../schema/roles.ts';
import type { Column, Table } from '../schema/schema.ts';
import { toWords } from '../words/words.ts';

export interface Order {
  readonly order: 'most' | 'least';
  readonly byDay: boolean;
  /** How many rows are asked for, at least one; an answer says where it shows fewer. */
  readonly number: number | undefined;
  readonly at: number;
  /** The words of it. */
  readonly word: string;
}

/** top 5, the 5 largest, latest, oldest, the most; also inside of a term such as best selling. */
export function orderOf(pass: Pass): Order | undefined {
  const isTerm = (at: number) => (pass.tiles[at]?.concepts.length ?? 0) > 0;
  const term = pass.tiles.findIndex(
    ({ words }, at) => isTerm(at) && words.some(({ lower }) => /^(most|best|best-selling|bestselling|highest|lowest)$/.test(lower)),
  );
  const [found, second] = pass.find('most', 'least', 'highest', 'lowest', 'newest', 'oldest').filter((at) => at !== term);
  const at = found ?? (term < 0 ? pass.find('descending')[0] : term);
  if (at === undefined) return undefined;
  const word = pass.tiles[at]?.words.map(({ lower }) => lower).join(' ') ?? '';
  const isLeast = ['least', 'lowest', 'oldest'].some((tag) => pass.has(at, tag as 'least')) || /\blowest\b/.test(word);
  const number = numberOfOrder(pass, at);
  pass.use(...(at === term ? [] : [at]), ...(number === undefined ? [] : [number]), ...pass.find('descending'));
  if (second === at + 1 && pass.has(second, 'oldest')) pass.use(second);
  const byDay = pass.has(at, 'newest') || pass.has(at, 'oldest');
  return { order: isLeast ? 'least' : 'most', byDay, number: number === undefined ? undefined : pass.tiles[number]?.number, at, word };
}

/** The number of rows beside the superlative, or before what is ranked: the 5 customers who spend the most. */
function numberOfOrder(pass: Pass, at: number): number | undefined {
  const isNumberOfRows = (number = 0) => Number.isInteger(number) && number >= 1;
  const isFree = (one: number) => isNumberOfRows(pass.tiles[one]?.number) && !pass.isUsed(one) && !pass.tiles[one]?.isFiller;
  const isRanked = (one: number) =>
    (pass.tiles[one + 1]?.tables.length ?? 0) > 0 && !pass.has(one - 1, 'over') && !pass.has(one - 1, 'atLeast');
  return [at - 1, at + 1].find(isFree) ?? [...pass.tiles.keys()].find((one) => isFree(one) && isRanked(one));
}

const byColumn = (base: Table, column: string, descending: boolean): NonNullable<Intent['orderBy']> => ({
  column: { tables: [base.name], sql: (of) => of(base.name, column) },
  label: toWords(column),
  descending,
});

/** The order of a list: by the superlative, else the latest rows first. */
export function listOrder(
  pass: Pass,
  { quantity, base }: Pick<Candidate, 'quantity' | 'base'>,
  order: Order | undefined,
): Intent['orderBy'] {
  const begin = beginDate(base)?.name;
  const late = pass.mentions('late') ? datesOf(base).find(({ name }) => /due|expected/.test(name))?.name : undefined;
  const day = late ?? begin;
  if (!order) return day === undefined ? undefined : byColumn(base, day, late === undefined);
  const descending = order.order === 'most';
  if (order.byDay) return orderOfDays(base, day, order.word, descending);
  if (quantity) return { column: quantity.value, label: quantity.label, descending };
  // Who is employed the longest began first.
  if (order.word === 'longest')
    return begin !== undefined && pass.tiles.some(({ days }) => days.some(({ table }) => table === base))
      ? byColumn(base, begin, false)
      : undefined;
  const ranked = rankedColumn(base, order.word);
  return ranked && byColumn(base, ranked.name, descending);
}

/** The last event is over: of rows that are planned ahead, those that have come. */
export function pastConditions({ base, quantity }: Candidate, order: Order | undefined, isAhead: boolean): Condition[] {
  const begin = beginDate(base);
  if (!order?.byDay || order.order !== 'most' || isAhead || quantity || !begin || !isPlanned(begin.name)) return [];
  const { name } = base;
  return [{ key: `past ${name}`, label: 'up to today', tables: [name], sql: (of) => `${of(name, begin.name)} < current_date + 1` }];
}

/** The oldest of people were born first; only people and what has an age are young. */
function orderOfDays(base: Table, day: string | undefined, word: string, descending: boolean): Intent['orderBy'] {
  const birth = /^(oldest|youngest)$/.test(word) ? birthDate(base)?.name : undefined;
  if (birth !== undefined) return byColumn(base, birth, descending);
  return day === undefined || word === 'youngest' ? undefined : byColumn(base, day, descending);
}

/** The price of the most expensive rows, the amount of the largest ones. */
function rankedColumn(base: Table, word: string): Column | undefined {
  const main = mainNumber(base);
  const price = /expensive|cheapest|priciest|dearest/.test(word) ? (priceColumn(base) ?? costColumn(base) ?? main) : undefined;
  if (price && isMoney(price)) return price;
  return main && /(total|amount)/.test(main.name) && /^(largest|biggest|highest|smallest|lowest)$/.test(word) ? main : undefined;
}

interface Ranks {
  readonly order: Order | undefined;
  readonly hasTime: boolean;
  /** The subject is in the singular; undefined where the question has no subject. */
  readonly isSingle: boolean | undefined;
}

/** How the groups or rows are ordered, and how many are shown. */
export function orderedBy(
  pass: Pass,
  candidate: Candidate,
  shape: Intent['shape'],
  { order, hasTime, isSingle }: Ranks,
): Pick<Intent, 'order' | 'orderBy' | 'limit' | 'limited'> {
  return {
    order: hasTime && !order ? 'time' : (order?.order ?? 'most'),
    orderBy: shape === 'list' ? listOrder(pass, candidate, order) : undefined,
    ...limitOf(order, isSingle ?? isSingular(pass, candidate.base), hasTime, shape),
  };
}

/** `the last order` is one row. */
const isSingular = (pass: Pass, base: Table) =>
  pass.tiles.some(
    ({ tables, words }) =>
      tables.includes(base) &&
      words.at(-1)?.lower === words.at(-1)?.stem &&
      !/stock|staff|inventory|people/.test(words.at(-1)?.lower ?? ''),
  );

const manyRows = 20;

/** How many rows or groups are shown. */
export function limitOf(
  order: Order | undefined,
  isSingle: boolean,
  time: boolean,
  shape: Intent['shape'],
): Pick<Intent, 'limit' | 'limited'> {
  if (order?.number !== undefined) return { limit: order.number, limited: true };
  if (order) return { limit: isSingle || time ? 1 : 5, limited: true };
  return { limit: shape === 'list' ? manyRows : time ? 100 : 50, limited: false };
}

/** A superlative needs something to put in order. */
export const isSound = (pass: Pass, candidate: Candidate, intent: Intent, order: Order | undefined): boolean => {
  if (!order) return true;
  if (/^(longest|shortest)$/.test(order.word) && !isLength(intent)) return false;
  if (isUncounted(pass, intent, order) || isPriceOfNone(intent, order)) return false;
  if (order.word === 'most often' && intent.quantity !== undefined) return false;
  if (
    isOfEach(pass, intent, order) ||
    isOfOthers(pass, intent, order) ||
    isOfRows(pass, intent, order) ||
    !ranksCounts(pass, candidate, intent, order)
  )
    return false;
  if (intent.shape === 'list') return intent.orderBy !== undefined;
  const isExtreme = intent.operation === 'max' || intent.operation === 'min';
  return !order.byDay && (intent.dimensions.length > 0 || (isExtreme && order.number === undefined));
};

/** Who took the most vacation, or paid the most, has not the most rows. */
function isUncounted(pass: Pass, { operation, shape, quantity }: Intent, { at, word }: Order): boolean {
  const next = pass.tiles[at + 1];
  if (!/^(most|least|(sells?|sold)( the)? most)$/.test(word) || shape !== 'figure') return false;
  const isValue = next !== undefined && next.values.length > 0;
  const isPlural = next?.words.at(-1)?.lower !== next?.words.at(-1)?.stem;
  // Who sells the most chairs has not the highest revenue of them.
  if (quantity) return quantity.unit === 'money' && isValue && isPlural && next.concepts.length + next.tables.length === 0;
  if (operation !== 'count') return false;
  const isMass = isValue && !isPlural;
  const after = pass.tiles.slice(at + 1);
  const isPaid =
    !pass.mentions('late', 'onTime') && pass.tiles.slice(0, at).some(({ words }) => /^(pay|pays|paid)$/.test(words[0]?.lower ?? ''));
  return (isMass || isPaid) && !after.some(({ tables, tags }) => tables.length > 0 || tags.includes('count'));
}

/** The most expensive product that we sold is not the one that sold most. */
const isPriceOfNone = ({ shape, quantity }: Intent, { word }: Order): boolean =>
  shape === 'figure' && /expensive|cheap|pric|dear/.test(word) && !/price|cost|rate|fee|salary/.test(quantity?.column ?? '');

/** Bills are not longer for their amount. */
const isLength = ({ quantity, orderBy, base }: Intent): boolean =>
  quantity === undefined
    ? orderBy?.label === toWords(beginDate(base)?.name ?? '')
    : quantity.unit === 'days' || /day|week|month|hour|minute|duration|length|time|page/.test(quantity.column ?? '');

const distributive = /\b(per|each|every)$/;

/** `the best customer of each country` is a row for each country; `the share of the top 5 customers` is one number. */
const isOfEach = (pass: Pass, { dimensions, share }: Intent, { at, number }: Order): boolean =>
  (dimensions.length > 0 && pass.tiles.some(({ words }) => distributive.test(words.map(({ lower }) => lower).join(' ')))) ||
  (share && number !== undefined && pass.tiles.findIndex(({ tags }) => tags.includes('percent')) < at);

/** `customers by their first order` puts orders in order, and not customers. */
const isOfOthers = (pass: Pass, { base }: Intent, { at, byDay }: Order): boolean => {
  const ranked = pass.tiles[pass.beside(at, 1)];
  return byDay && ranked !== undefined && ranked.tables.length > 0 && !ranked.tables.includes(base) && ranked.concepts.length === 0;
};

/** `the customer with the largest invoice` is not the one whose invoices add up to most. */
const isOfRows = (pass: Pass, { base, dimensions, operation }: Intent, { at }: Order): boolean => {
  const ranked = pass.tiles.slice(at + 1).find(({ tables, tags }) => tables.length > 0 || tags.length > 0);
  const isRanking = pass.has(at, 'highest') || pass.has(at, 'lowest');
  return isRanking && operation === 'sum' && dimensions.length > 0 && ranked?.tables.includes(base) === true;
};

/** Groups have the most rows, but the largest row of a group is not found by counting. */
const ranksCounts = (pass: Pass, { isTerm }: Candidate, { shape, operation, quantity }: Intent, { at, word }: Order): boolean =>
  shape === 'list' ||
  operation !== 'count' ||
  quantity !== undefined ||
  isTerm === true ||
  pass.tiles.some(({ tags }, index) => index > at && tags.includes('count')) ||
  !(pass.has(at, 'highest') || pass.has(at, 'lowest') || /^(best|worst|strongest|weakest|greatest|leading)$/.test(word));
