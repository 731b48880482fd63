import type { Placed } from '../conditions/conditions.ts';
import { withoutDeleted } from '../conditions/deleted.ts';
import { quantityOfColumn } from '../meaning/candidates.ts';
import type { Dimension, Intent } from '../meaning/intent.ts';
import { Pass } from '../meaning/pass.ts';
import type { ColumnMeaning, Tile } from '../meaning/tiles.ts';
import type { Operation } from '../schema/concepts.ts';
import { mainNumber } from '../schema/roles.ts';
import type { Schema } from '../schema/schema.ts';
import type { ValueIndex } from '../schema/value-index.ts';
import { type Attempt, columnsOf, isConsistent, rowConditions } from './assemble.ts';
import { groupsOf } from './groups.ts';
import { limitOf, listOrder, type Order, orderOf } from './order.ts';
import { spansOf } from './spans.ts';
import { trendOf } from './subject.ts';

/** In tiles. */
const longest = 8;

/** `and last month?`, `by country?`, `only for Germany`, `how many of them` continue the previous question. */
export function continuesPrevious(tiles: readonly Tile[]): boolean {
  if (tiles.length === 0 || tiles.length > longest) return false;
  const [first, second] = tiles as [Tile, Tile | undefined];
  if (tiles.some(({ tags, words }) => tags.includes('pronoun') && /^(of|them|those|these|they)/.test(words[0]?.lower ?? ''))) return true;
  if (asksYesOrNo(first)) return false;
  const begins =
    first.tags.some((tag) => /^(and|only|continue|by|without)$/.test(tag)) &&
    !second?.tags.some((tag) => /^(count|howMuch|which)$/.test(tag));
  return begins || tiles.every(({ tables, concepts }) => tables.length === 0 && concepts.length === 0);
}

/** `is this good?` asks for a judgement, unless it names rows. */
export const asksYesOrNo = ({ words }: Tile): boolean => /^(is|are|was|were|does|do|did|has|have|can|should)$/.test(words[0]?.lower ?? '');

/** The previous question with what this one changes: its span, groups, filters, order or operation. */
export function continueIntent(previous: Intent, tiles: readonly Tile[], schema: Schema, index: ValueIndex): Attempt {
  const pass = new Pass(tiles, previous.base, schema, index);
  const order = orderOf(pass);
  const groups = [...groupsOf(pass), ...(trendOf(pass) ?? [])];
  const limits = [...previous.conditions, ...(previous.rate ?? [])].map(({ key }) => key);
  const placed = rowConditions(pass, [...columnsOf(groups.length > 0 ? groups : previous.dimensions), ...limits]);
  const parts = partsOf(previous, placed);
  const figure = figureOf(pass, previous);
  const dimensions = groups.length > 0 ? groups : keepsGroups(pass, previous, figure) ? previous.dimensions : [];
  const hasTime = dimensions.some(({ kind }) => kind === 'time');
  const spans = spansOf(pass, hasTime, previous.span);
  const changes = tiles.some((_, at) => pass.isUsed(at));
  useGrammar(pass, previous);
  // `who are they?` asks for more than the same figure.
  const unused = changes ? pass.unused() : tiles;
  const isUnclear = hasSeveralMeanings(pass, previous, { placed, parts, groups, figure });
  const attempt = { unused, foretells: spans?.foretells ?? false, why: false, isMentioned: true, isUnclear };
  if (!spans || spans.foretells || isUnclear) return { ...attempt, intent: undefined };
  const isNew = pass.tiles.some(({ period }) => period !== undefined);
  const intent: Intent = {
    ...previous,
    ...figure,
    dimensions,
    ...conditionsAfter(previous, placed, parts),
    span: spans.span,
    day: spans.day ?? previous.day,
    versus: isNew ? spans.versus : previous.versus,
    ...orderAfter(pass, previous, order, { hasTime, isRegrouped: groups.length > 0 }),
    assumed: pass.assumed,
  };
  const isSorted = !order || intent.shape !== 'list' || intent.orderBy !== undefined;
  return { ...attempt, intent: isSorted && isConsistent(intent) ? withoutDeleted(intent, {}, schema) : undefined };
}

/** Another average of the same groups. */
const keepsGroups = (pass: Pass, previous: Intent, figure: Partial<Intent> | undefined): boolean =>
  figure === undefined || figure.ofGroups !== undefined || (pass.mentions('average', 'median') && averages(previous));

const averages = ({ operation }: Intent): boolean => operation === 'avg' || operation === 'median';

/** `and delivered?` after the percentage of orders that are cancelled: another value of that column. */
function partsOf({ rate = [] }: Intent, placed: readonly Placed[]): readonly Placed[] {
  const replaced = placed.filter(({ condition }) => rate.some(({ key }) => key === condition.key));
  return placed.filter(({ at }) => replaced.some((one) => one.at === at));
}

/** New conditions replace those of the same columns. */
function conditionsAfter(
  previous: Intent,
  placed: readonly Placed[],
  parts: readonly Placed[],
): Partial<Intent> & Pick<Intent, 'conditions'> {
  const rows = placed.filter((one) => !parts.includes(one)).map(({ condition }) => condition);
  const remaining = previous.conditions.filter(({ key }) => !rows.some((one) => one.key === key));
  return { conditions: [...remaining, ...rows], ...(parts.length > 0 && { rate: parts.map(({ condition }) => condition) }) };
}

interface Changes {
  readonly placed: readonly Placed[];
  /** Those that are the part of a percentage. */
  readonly parts: readonly Placed[];
  readonly groups: readonly Dimension[];
  readonly figure: Partial<Intent> | undefined;
}

/**
 * True for a figure of some of the rows or groups; limits and figures of groups that others replace; limits of groups, which are none of
 * rows; numbers and averages of figures for groups; averages by groups, which have two meanings; values that may be the part or the whole of
 * a percentage; and another status than one that stands with a term of business, such as overdue.
 */
function hasSeveralMeanings(pass: Pass, previous: Intent, { placed, parts, groups, figure }: Changes): boolean {
  const replacesGroups = groups.length > 0 && (previous.having !== undefined || previous.ofGroups !== undefined);
  const mayBePartOrWhole = parts.length > 0 && pass.mentions('only', 'not', 'without');
  if (replacesGroups || mayBePartOrWhole || (figure && showsPartOfRows(previous, figure))) return true;
  const isGrouped = previous.shape === 'figure' && previous.dimensions.length > 0;
  const isLimit = placed.some(({ at }) => (['over', 'under', 'atLeast', 'atMost'] as const).some((tag) => pass.has(at, tag)));
  const isAverage = pass.mentions('average', 'median');
  const replaces = placed.some(({ condition }) => previous.conditions.some(({ key }) => key === condition.key));
  const hasTerm = previous.quantity === undefined && previous.conditions.some(({ key }) => key.startsWith('term '));
  const isCount = figure?.operation === 'count' && figure.ofGroups === undefined && countsGroups(pass, previous);
  return (
    (isGrouped && (isLimit || isCount || (isAverage && !averages(previous)))) || (isAverage && groups.length > 0) || (replaces && hasTerm)
  );
}

/** The question before shows the first rows or groups, those within a limit, or the part of a whole. */
const showsPartOfRows = ({ limited, rate, having }: Intent, { ofGroups }: Partial<Intent>): boolean =>
  limited || rate !== undefined || (having !== undefined && ofGroups === undefined);

const namesRows = ({ tiles, base }: Pass): boolean => tiles.some(({ tables }) => tables.includes(base));

/** `how many of them` after revenue by country, or orders by customer: the groups, or their rows. */
const countsGroups = (pass: Pass, { base, quantity, dimensions }: Intent): boolean =>
  !namesRows(pass) && (quantity !== undefined || dimensions.some((one) => one.kind === 'column' && one.table !== base.name));

function orderAfter(
  pass: Pass,
  previous: Intent,
  order: Order | undefined,
  { hasTime, isRegrouped }: { readonly hasTime: boolean; readonly isRegrouped: boolean },
): Pick<Intent, 'order' | 'orderBy'> & Partial<Intent> {
  const before = previous.order === 'time' ? 'most' : previous.order;
  return {
    order: order?.order ?? (hasTime ? 'time' : before),
    orderBy: order && previous.shape === 'list' ? listOrder(pass, previous, order) : previous.orderBy,
    // The first five customers have more than five months.
    ...(isRegrouped && !order && limitOf(undefined, false, hasTime, 'figure')),
    ...(order?.number !== undefined && { limit: order.number, limited: true }),
  };
}

const grammar = /^(pronoun|and|only|continue|which|who|worth)$/;

function useGrammar(pass: Pass, previous: Intent): void {
  for (const [at, tile] of pass.tiles.entries()) if (tile.tags.some((tag) => grammar.test(tag)) || isKnown(tile, previous)) pass.use(at);
}

/** Tables that the previous question leads to, and words for what it counts. */
const isKnown = ({ tables, concepts }: Tile, { base, quantity }: Intent) =>
  tables.some((table) => table === base) || concepts.some(({ label }) => label === quantity?.label);

const alone = {
  shape: 'figure',
  share: false,
  rate: undefined,
  ofGroups: undefined,
  having: undefined,
  distinct: undefined,
  limited: false,
  limit: 50,
} as const;

/** `how many of them`, `what was their total value`, `and the average` */
function figureOf(pass: Pass, previous: Intent): Partial<Intent> | undefined {
  const counts = pass.find('count');
  const sums = pass.find('sum', 'howMuch', 'worth');
  const [average] = pass.find('average', 'median');
  const isOwn = ({ table, column }: ColumnMeaning) => table === previous.base && column.kind === 'number';
  const amounts = pass.tiles.flatMap((tile, at) => (tile.columns.some(isOwn) && !pass.isUsed(at) ? [at] : []));
  if (sums.length + amounts.length > 0 || average !== undefined) {
    pass.use(...sums, ...pass.find('average', 'median'), ...amounts, ...(sums.length > 0 ? counts : []));
    const quantity = quantityAfter(previous, amounts[0] === undefined ? undefined : pass.columnAt(amounts[0], isOwn));
    const operation: Operation = average === undefined ? 'sum' : pass.has(average, 'median') ? 'median' : 'avg';
    return quantity && { ...alone, operation, quantity };
  }
  if (counts.length === 0) return undefined;
  pass.use(...counts);
  return countOf(pass, previous);
}

/** The groups that fit a limit, what the question before counts once each, or the rows. */
function countOf(pass: Pass, { shape, dimensions, having, operation, quantity, distinct }: Intent): Partial<Intent> {
  return shape === 'figure' && dimensions.length === 1 && having
    ? { ...alone, operation, quantity, having, ofGroups: 'count' }
    : { ...alone, operation: 'count', quantity: undefined, distinct: namesRows(pass) ? undefined : distinct };
}

/** The quantity that is named, that of the previous question, or the one that its rows are about. */
function quantityAfter({ base, quantity }: Intent, named: ColumnMeaning | undefined) {
  const main = mainNumber(base);
  const column = named?.column ?? (quantity ? undefined : main);
  return column ? quantityOfColumn({ table: base, column }) : quantity;
}
