import { comparisonsOf } from '../conditions/comparisons.ts';
import type { Candidate } from '../meaning/candidates.ts';
import type { Dimension, Intent, Quantity } from '../meaning/intent.ts';
import type { Pass } from '../meaning/pass.ts';
import type { Tile } from '../meaning/tiles.ts';
import type { Operation } from '../schema/concepts.ts';
import { isMoney, labelColumn, mainNumber } from '../schema/roles.ts';
import { type Table, tableOf } from '../schema/schema.ts';
import { stemOf, toWords } from '../words/words.ts';
import { isLabelOf } from './groups.ts';
import type { Order } from './order.ts';

/** The rows that are listed or counted are those that the question names first; a term of business may stand for other rows. */
export function isCountedNoun(pass: Pass, { base, subject, isTerm, quantity }: Candidate, { shape, operation, distinct }: Figure): boolean {
  if (isTerm || quantity) return true;
  const isTotalOfRows = (at: number) => pass.has(at, 'sum') && (pass.tiles[pass.beside(at, 1)]?.tables.length ?? 0) > 0;
  const [count] = pass.tiles.flatMap(({ tags }, at) => (tags.includes('count') || isTotalOfRows(at) ? [at] : []));
  if (count !== undefined && countsValues(pass, base, subject, pass.beside(count, 1))) return false;
  const isNoun = ({ tables, concepts }: Tile) => tables.length > 0 && concepts.every(({ unit }) => unit !== 'money');
  const first = pass.tiles.slice(count ?? 0).find(isNoun) ?? pass.tiles.find(isNoun);
  if (!first || (shape === 'figure' && (operation !== 'count' || count === undefined) && !distinct)) return true;
  if (distinct) return subject !== undefined && first.tables.includes(subject);
  const isNamed = first.tables.some((table) => table === base || table === subject);
  return isNamed || (subject === undefined && represents(pass, base, first));
}

/** `how many chairs did we buy`: chairs are products, and not the orders for them. */
function countsValues(pass: Pass, base: Table, subject: Table | undefined, at: number): boolean {
  const { values, tables, columns, words } = pass.tiles[at] ?? { values: [], tables: [], columns: [], words: [] };
  // `how many warehouses` are not the people of the department Warehouse.
  const isColumn = columns.some(({ column }) => column.kind === 'text') && words.at(-1)?.lower !== words.at(-1)?.stem;
  const isOwn = !isColumn && values.some(({ table }) => table === base.name || table === subject?.name);
  return values.length > 0 && tables.length === 0 && !isOwn && !pass.tiles.slice(at + 1).some((tile) => tile.tables.length > 0);
}

/** Stock may represent products, as orders of an amount do not their customers: rows of a table that no word names, and that refer to a table that a word names. */
const represents = (pass: Pass, base: Table, { tables }: Tile) =>
  !pass.tiles.some((tile) => tile.tables.includes(base)) &&
  base.foreignKeys.some(({ table }) => tables.some(({ name }) => name === table)) &&
  (pass.mentions('late') || (pass.mentions('over', 'under', 'atMost') && !isAboutMoney(base)));

const isAboutMoney = (table: Table): boolean => {
  const main = mainNumber(table);
  return main !== undefined && isMoney(main);
};

type Figure = Pick<Intent, 'shape' | 'operation' | 'quantity' | 'distinct' | 'ofGroups'>;

const aggregates = { average: 'avg', median: 'median', sum: 'sum' } as const;

interface Words {
  readonly counts: readonly number[];
  /** The position of `total`, `average` or `median`. */
  readonly at: number | undefined;
  readonly aggregate: Operation | undefined;
  readonly amounts: readonly number[];
}

function wordsOfFigure(pass: Pass): Words {
  const [at] = pass.find('average', 'median', 'sum');
  const tag = at === undefined ? undefined : (['average', 'median', 'sum'] as const).find((one) => pass.has(at, one));
  // `how many pending and how many cancelled` are two figures; `phone number` is not a count.
  const isNumber = (one: number) => pass.tiles[one]?.words[0]?.lower === 'number' && (pass.tiles[one - 1]?.values.length ?? 0) > 0;
  return {
    counts: pass
      .find('count')
      .slice(0, 1)
      .filter((one) => !isNumber(one)),
    at,
    aggregate: tag && aggregates[tag],
    amounts: pass.find('howMuch', 'worth'),
  };
}

const plain = { distinct: undefined, ofGroups: undefined } as const;

/** The figure that the words request; undefined if they request a figure that the candidate lacks. */
export function figureOf(pass: Pass, candidate: Candidate, dimensions: readonly Dimension[], order: Order | undefined): Figure | undefined {
  const words = wordsOfFigure(pass);
  const { quantity } = candidate;
  if (!quantity) return countOf(pass, candidate, dimensions, order, words);
  if (contradicts(pass, candidate, quantity, words, dimensions, order)) return undefined;
  pass.use(...words.counts, ...pass.find('average', 'median', 'sum'), ...words.amounts);
  return amountOf(pass, candidate, quantity, words, dimensions, order);
}

/** How many rows there are, or the rows themselves. */
function countOf(
  pass: Pass,
  candidate: Candidate,
  dimensions: readonly Dimension[],
  order: Order | undefined,
  { counts, aggregate, amounts }: Words,
): Figure | undefined {
  const { subject, operation, base } = candidate;
  const hasGroups = dimensions.length > 0;
  // `average fine by reason` is an amount of money.
  const isCounted =
    counts.length > 0 || !pass.tiles.some(({ tables, words }) => tables.includes(base) && words.at(-1)?.lower === words.at(-1)?.stem);
  const inGroups = dimensions.length === 1 && aggregate === 'avg' && !subject && isCounted;
  const isOfAmount = aggregate === 'sum' && counts.length === 0 && operation === undefined && mainNumber(base) !== undefined;
  // `total invoiced in EUR` is no number of the accounts in euros, which no word names.
  const isOfUnnamed = aggregate === 'sum' && counts.length === 0 && !pass.tiles.some(({ tables }) => tables.length > 0);
  if (amounts.length > 0 || aggregate === 'median' || isOfAmount || isOfUnnamed || (aggregate === 'avg' && !inGroups)) return undefined;
  const isGrouped = hasGroups && (order !== undefined || operation === undefined);
  const isCount = [counts.length > 0, isGrouped, operation === 'count', subject, pass.mentions('percent', 'rate'), aggregate].some(Boolean);
  pass.use(...counts, ...pass.find('average', 'sum'));
  return isCount
    ? rowsCounted(pass, candidate, dimensions, counts, inGroups)
    : { ...plain, shape: 'list', operation: 'count', quantity: undefined };
}

function rowsCounted(
  pass: Pass,
  candidate: Candidate,
  dimensions: readonly Dimension[],
  counts: readonly number[],
  inGroups: boolean,
): Figure {
  const { subject, base } = candidate;
  // `members with two fines, how many?`
  const after = counts[0] === undefined ? undefined : pass.tiles[pass.beside(counts[0], 1)];
  const counted = after ?? (counts.length > 0 ? pass.tiles.find(({ tables }) => tables.length > 0) : undefined);
  // Products that are low in two warehouses are counted once.
  const named = counted?.tables.find(({ name }) => stemOf(name) === counted.words.at(-1)?.stem);
  const key = candidate.isTerm ? base.foreignKeys.find(({ table }) => table === named?.name) : undefined;
  const isGrouped = subject && dimensions.some((one) => one.kind === 'column' && one.table === subject.name);
  const distinct = subject && !isGrouped ? candidate.distinct : key && { table: base.name, column: key.column };
  const isOfSubject = subject && !distinct && counted?.tables.includes(subject);
  return {
    shape: 'figure',
    operation: 'count',
    quantity: undefined,
    distinct,
    ofGroups: inGroups ? 'avg' : isOfSubject ? 'count' : undefined,
  };
}

/** True where a word asks for another kind of figure than this quantity. */
function contradicts(
  pass: Pass,
  candidate: Candidate,
  { unit }: Quantity,
  { counts, at, aggregate, amounts }: Words,
  dimensions: readonly Dimension[],
  order: Order | undefined,
): boolean {
  if (counts.length > 0 && unit !== 'pieces' && !countsDays(pass, counts, candidate) && !countsColumn(pass, counts, candidate)) return true;
  if (unit === 'pieces' && !countsPieces(pass, candidate, dimensions)) return true;
  if (unit !== 'money' && amounts.some((one) => pass.has(one, 'worth'))) return true;
  const isDuration = unit === 'days' && candidate.tiles.some((one) => pass.has(one, 'days'));
  if (aggregate === 'sum' && (isDuration || (order && at !== undefined && at < order.at))) return true;
  const isRanked = order !== undefined && !/^(best|worst|strongest|weakest)$/.test(order.word);
  if (isUnstated(pass, candidate) && at === undefined && amounts.length === 0 && !isRanked) return true;
  return isStateOfRows(pass, candidate, at !== undefined || amounts.length > 0);
}

function amountOf(
  pass: Pass,
  candidate: Candidate,
  quantity: Quantity,
  { aggregate, amounts, counts }: Words,
  dimensions: readonly Dimension[],
  order: Order | undefined,
): Figure | undefined {
  const figure = (operation: Operation): Figure => ({ ...plain, shape: 'figure', operation, quantity });
  if (aggregate === 'avg' && candidate.operation === 'sum' && !quantity.per && isPerEntity(pass, dimensions))
    return { ...figure('sum'), ofGroups: 'avg' };
  if (aggregate) return figure(aggregate === 'sum' && candidate.operation === 'avg' ? 'avg' : aggregate);
  if (order && dimensions.length === 0) return extreme(pass, candidate, quantity, order);
  if (candidate.operation) return figure(candidate.operation);
  if (counts.length > 0 && countsColumn(pass, counts, candidate)) return figure('sum');
  return isSum(pass, candidate, quantity, dimensions.length > 0 || amounts.length > 0) ? figure('sum') : undefined;
}

/** The largest order is a row, and the highest salary has its owner beside it; else it is a number, and a total has no maximum. */
function extreme(pass: Pass, candidate: Candidate, quantity: Quantity, { order }: Order): Figure | undefined {
  const isRows = isOfRows(pass, candidate);
  if (candidate.operation === 'sum' && !isRows) return undefined;
  return isRows || pass.mentions('who')
    ? { ...plain, shape: 'list', operation: 'count', quantity }
    : { ...plain, shape: 'figure', operation: order === 'most' ? 'max' : 'min', quantity };
}

const isOfRows = (pass: Pass, { base }: Candidate): boolean => pass.tiles.some(({ tables }) => tables.includes(base));

/** True for a number that the question names without saying that it is added up. */
function isSum(pass: Pass, { base, tiles }: Candidate, quantity: Quantity, isRequested: boolean): boolean {
  const label = labelColumn(base)?.name;
  const isOneRow = pass.tiles.some(({ values }) => values.some(({ table, column }) => table === base.name && column === label));
  if (isOneRow) return true;
  if (!isAdditive(quantity)) return false;
  const isStated = isRequested || pass.mentions('howMuch', 'worth', 'sum');
  if (!isStated && isAmountOf(pass, tiles)) pass.assumed.push(`added up the ${quantity.label}`);
  return isStated || isAmountOf(pass, tiles);
}

/** No word names the number: `customers without cancelled orders` asks for no total of orders. */
const isUnstated = (pass: Pass, { quantity, isTerm, tiles, base }: Candidate): boolean =>
  isTerm === undefined &&
  quantity?.column !== undefined &&
  comparisonsOf(pass).length === 0 &&
  !tiles.some((at) => pass.tiles[at]?.columns.some(({ table, column }) => table === base && column.name === quantity.column));

/** `overdue invoices` are rows, unless an amount is asked for; the highest paid ones are ranked by it. */
function isStateOfRows(pass: Pass, { base, tiles, conditions: own, isTerm }: Candidate, saysAmount: boolean): boolean {
  const words = tiles.flatMap((at) => pass.tiles[at]?.words.map(({ lower }) => lower) ?? []);
  const isState = isTerm && own.length > 0 && words.some((word) => /^(overdue|unpaid|outstanding|paid|due)$/.test(word));
  return (
    Boolean(isState) &&
    !saysAmount &&
    !words.some((word) => /amount|total|highest|best|lowest/.test(word)) &&
    pass.tiles.some(({ tables }) => tables.includes(base))
  );
}

/** `how many visitors`: a column whose name is a plural counts things. */
function countsColumn(pass: Pass, counts: readonly number[], { base, quantity }: Candidate): boolean {
  const counted = pass.tiles[pass.beside(counts[0] as number, 1)];
  const name = toWords(quantity?.column ?? '');
  return name !== stemOf(name) && counted?.columns.some(({ table, column }) => table === base && column.name === quantity?.column) === true;
}

/** `how many vacation days`, and not `how many orders were shipped in how many days`. */
function countsDays(pass: Pass, [count]: readonly number[], { quantity, tiles }: Candidate): boolean {
  const counted = [...pass.tiles.keys()].find((at) => at > (count as number) && namesFigure(pass.tiles[at] as Tile));
  return quantity?.unit === 'days' && counted !== undefined && tiles.includes(counted);
}

const namesFigure = ({ tables, concepts, tags }: Tile): boolean => tables.length > 0 || concepts.length > 0 || tags.includes('days');

/** Sold is money, unless pieces, a number or products are mentioned; the number of orders is not a number of pieces. */
function countsPieces(pass: Pass, { tiles }: Candidate, dimensions: readonly Dimension[]): boolean {
  const [count] = pass.find('count');
  const counted = count === undefined ? undefined : pass.tiles[pass.beside(count, 1)];
  if (counted?.tables.some(({ name }) => !/product|item|inventory|good/.test(name))) return false;
  const words = pass.tiles.flatMap(({ words: own, columns }, at) =>
    tiles.includes(at) || columns.some(({ column }) => column.name === 'quantity') ? own.map(({ lower }) => lower) : [],
  );
  const isStated = words.some((word) => /unit|quantity|sell(ing|er)|item|piece|stock|hand|bought|purchased/.test(word));
  return isStated || count !== undefined || dimensions.some((one) => one.kind === 'column' && one.table === 'products');
}

/** `amount of bills not yet paid` */
const isAmountOf = (pass: Pass, tiles: readonly number[]) => {
  const first = [...pass.tiles.keys()].find((at) => !pass.tiles[at]?.isFiller);
  return first !== undefined && tiles.includes(first) && (pass.tiles[first]?.columns.length ?? 0) > 0;
};

const isAdditive = ({ column, isTerm }: Quantity) =>
  isTerm || (/(total|amount|quantity|days|cost|units)(_[a-z]{3})?$/.test(column ?? '') && !/^unit_/.test(column ?? ''));

/** One average for all customers, and not one for each of them. */
const isPerEntity = (pass: Pass, [dimension, ...more]: readonly Dimension[]) =>
  more.length === 0 &&
  (dimension?.kind === 'time' || (dimension?.kind === 'column' && isLabelOf(tableOf(pass.schema, dimension.table) as Table, dimension)));
