import type { ColumnDimension, Dimension } from '../meaning/intent.ts';
import type { Pass } from '../meaning/pass.ts';
import type { ColumnMeaning, Tile } from '../meaning/tiles.ts';
import { isKey, labelColumns } from '../schema/roles.ts';
import type { Column, Table } from '../schema/schema.ts';

interface Phrase {
  readonly dimension: Dimension;
  /** The position after it. */
  readonly end: number;
}

const isCategory = ({ column }: ColumnMeaning) => (column.kind === 'text' || column.kind === 'boolean') && !isKey(column);

export const columnDimension = (table: Table, column: Column): ColumnDimension => ({
  kind: 'column',
  table: table.name,
  column: column.name,
  type: column.kind,
});

export function labelDimension(table: Table): ColumnDimension | undefined {
  const [label, lastName] = labelColumns(table);
  return label && { ...columnDimension(table, label), ...(lastName && { lastName: lastName.name }) };
}

/** True where the groups are the rows of the table, and not those that share a value. */
export function isLabelOf(table: Table, { column, lastName }: ColumnDimension): boolean {
  const label = labelDimension(table);
  return label?.column === column && label.lastName === lastName;
}

/** `customer`, `product category`, `category of products`, `month`: what rows can be grouped by, at a position of the question. */
export function dimensionAt(pass: Pass, at: number): Phrase | undefined {
  const tile = pass.tiles[at];
  if (!tile) return undefined;
  if (tile.grain) return { dimension: { kind: 'time', grain: tile.grain }, end: at + 1 };
  const pair = pairAt(pass, tile, at);
  if (pair) return pair;
  const column = pass.columnAt(at, isCategory);
  const table = tile.tables.find(({ name }) => pass.reaches(name) && name !== pass.base.name);
  const dimension = table ? labelDimension(table) : column && columnDimension(column.table, column.column);
  return dimension && { dimension, end: at + 1 };
}

/** A table and one of its columns in either order, or a term before a column: `sales channel`. */
function pairAt(pass: Pass, tile: Tile, at: number): Phrase | undefined {
  const next = pass.beside(at, 1);
  const following = pass.tiles[next];
  const isJoined = pass.tiles.slice(at + 1, next).every(({ words }) => /^(of|the|our)$/.test(words[0]?.lower ?? ''));
  if (!following || !isJoined) return undefined;
  const columnOf = (tables: readonly Table[], meanings: readonly ColumnMeaning[]) =>
    meanings.find((one) => tables.includes(one.table) && isCategory(one));
  const pair = columnOf(tile.tables, following.columns) ?? columnOf(following.tables, tile.columns);
  if (pair && pass.reaches(pair.table.name)) return { dimension: columnDimension(pair.table, pair.column), end: next + 1 };
  return tile.concepts.length > 0 && following.columns.some(isCategory) ? dimensionAt(pass, next) : undefined;
}

/** `by country and month`, `per warehouse`, `for each customer`, `monthly` */
export function groupsOf(pass: Pass): Dimension[] {
  const dimensions: Dimension[] = [];
  const add = ({ dimension, end }: Phrase, from: number) => {
    if (!dimensions.some((one) => JSON.stringify(one) === JSON.stringify(dimension))) dimensions.push(dimension);
    pass.use(...Array.from({ length: end - from }, (_, offset) => from + offset));
  };
  for (const [at, { grain, words }] of pass.tiles.entries())
    if (grain && /ly$/.test(words[0]?.lower ?? '') && !pass.isUsed(at)) add({ dimension: { kind: 'time', grain }, end: at + 1 }, at);
  for (const by of pass.find('by')) {
    const start = pass.has(by + 1, 'by') ? by + 1 : by;
    const phrases = phrasesAfter(pass, pass.beside(start, 1)).filter(({ phrase }) => !isUnnamed(phrase) && !isAgent(pass, by, phrase));
    for (const { phrase, at } of phrases) add(phrase, at);
    if (phrases.length > 0) pass.use(by, start, ...phrases.slice(1).map(({ at }) => pass.beside(at, -1)));
  }
  return dimensions;
}

/** Loans have no names: `fines per loan` is one ratio, and no list of loans by their ids. */
const isUnnamed = ({ dimension }: Phrase): boolean => dimension.kind === 'column' && dimension.column === 'id';

/** `placed by customers in France` says which orders, and not that there is a number for each customer. */
const isAgent = (pass: Pass, by: number, { dimension, end }: Phrase): boolean => {
  const word = pass.tiles[end - 1]?.words.at(-1);
  const isOfGroups = pass.tiles[pass.beside(end - 1, 1)]?.values.some(
    ({ table }) => dimension.kind === 'column' && dimension.table === table,
  );
  return pass.tiles[by]?.words.at(-1)?.lower === 'by' && word?.lower !== word?.stem && isOfGroups === true;
};

/** The criteria from a position on, joined by `and`. */
function phrasesAfter(pass: Pass, at: number): { phrase: Phrase; at: number }[] {
  const phrase = dimensionAt(pass, at);
  if (!phrase) return [];
  return [{ phrase, at }, ...(pass.has(phrase.end, 'and') ? phrasesAfter(pass, pass.beside(phrase.end, 1)) : [])];
}
