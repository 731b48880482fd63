import { type Grain, grainOf } from '../words/periods.ts';
import { indexOfStems, stemsOfName, type Word } from '../words/words.ts';
import { mentionedTables } from './measures.ts';
import { type Column, type ColumnKind, columnOf, pathTo, reachable, type Schema, type Table, tableOf } from './schema.ts';

/** A criterion by which rows are grouped: periods, or the values of a column that the base refers to. */
export type Dimension =
  | { readonly kind: 'time'; readonly grain: Grain }
  | { readonly kind: 'column'; readonly table: string; readonly column: string; readonly type: ColumnKind };

const stops = new Set([
  'by',
  'per',
  'each',
  'every',
  'across',
  'in',
  'for',
  'of',
  'over',
  'during',
  'since',
  'between',
  'before',
  'after',
  'this',
  'last',
  'next',
  'with',
  'and',
  'from',
  'to',
  'that',
  'where',
  'who',
  'which',
  'is',
  'are',
]);
const begins = new Set(['by', 'per', 'each', 'every', 'across']);

export const beginsGroups = ({ lower }: Word): boolean => begins.has(lower);

/** `by country and month`, `per warehouse`, `for each customer`, `monthly revenue` */
export function dimensionsOf(words: readonly Word[], base: Table, schema: Schema): Dimension[] {
  const dimensions: Dimension[] = [];
  const add = (dimension: Dimension | undefined) => {
    if (dimension && !dimensions.some((other) => same(other, dimension))) dimensions.push(dimension);
  };
  for (const [at, word] of words.entries()) {
    if (/^(daily|weekly|monthly|quarterly|yearly)$/.test(word.lower)) add(timeOf(word));
    if (begins.has(word.lower)) for (const phrase of phrasesAfter(words, at)) add(dimensionOf(phrase, base, schema));
  }
  return dimensions;
}

/** Positions of the words that say how rows are grouped. */
export function dimensionPhrases(words: readonly Word[]): Set<number> {
  const positions = new Set<number>();
  for (const [at, { lower }] of words.entries()) {
    if (/^(daily|weekly|monthly|quarterly|yearly)$/.test(lower)) positions.add(at);
    if (!begins.has(lower)) continue;
    const length = phrasesAfter(words, at).reduce((sum, phrase) => sum + phrase.length + 1, 0);
    for (let offset = 0; offset < length; offset += 1) positions.add(at + offset);
  }
  return positions;
}

const timeOf = (word: Word | undefined): Dimension | undefined => {
  const grain = grainOf(word);
  return grain && { kind: 'time', grain };
};

/** The phrase after a `by`, and those that `and` adds to it. */
function phrasesAfter(words: readonly Word[], at: number): Word[][] {
  const phrases: Word[][] = [];
  let next = at + 1;
  do {
    const phrase: Word[] = [];
    while (next < words.length && !stops.has(words[next]?.lower ?? '') && phrase.length < 3) phrase.push(words[next++] as Word);
    if (phrase.length > 0) phrases.push(phrase);
  } while (words[next]?.lower === 'and' && next++ < words.length);
  return phrases;
}

export function dimensionOf(phrase: readonly Word[], base: Table, schema: Schema): Dimension | undefined {
  const time = phrase.length <= 2 ? timeOf(phrase[0]) : undefined;
  return time ?? columnDimension(phrase, base, schema) ?? tableDimension(phrase, base, schema);
}

/** A column of the base by its name, else one of a table to which it refers. */
export function columnDimension(phrase: readonly Word[], base: Table, schema: Schema): Dimension | undefined {
  for (const table of reachable(base, schema)) {
    const column = table.columns.find(
      ({ name, kind }) => (kind === 'text' || kind === 'boolean') && indexOfStems(phrase, stemsOfName(name)) === 0 && !name.endsWith('_id'),
    );
    if (column && !(column.name === 'name' && table !== base))
      return { kind: 'column', table: table.name, column: column.name, type: column.kind };
  }
  return undefined;
}

/** A table stands for the names of its rows; `product category` is a column of it. */
function tableDimension(phrase: readonly Word[], base: Table, schema: Schema): Dimension | undefined {
  const [mention] = mentionedTables(phrase, schema).filter(({ at }) => at === 0);
  if (!mention || !pathTo(schema, base, mention.table.name)) return undefined;
  const rest = phrase.slice(mention.length);
  const named = mention.table.columns.find(({ name }) => rest.length > 0 && indexOfStems(rest, stemsOfName(name)) === 0);
  const column = named ?? labelColumn(mention.table);
  return column && { kind: 'column', table: mention.table.name, column: column.name, type: column.kind };
}

/** The column that people call a row by. */
export function labelColumn(table: Table): Column | undefined {
  const preferred = ['name', 'full_name', 'title', 'label', 'invoice_number', 'number', 'code', 'sku', 'email'];
  return preferred.flatMap((name) => columnOf(table, name) ?? [])[0] ?? columnOf(table, 'id');
}

const same = (a: Dimension, b: Dimension) => JSON.stringify(a) === JSON.stringify(b);

export const labelOf = (dimension: Dimension, schema: Schema): string => {
  if (dimension.kind === 'time') return dimension.grain;
  const table = tableOf(schema, dimension.table);
  const own = table && labelColumn(table)?.name === dimension.column;
  const singular = stemsOfName(dimension.table).join(' ');
  return own ? singular : dimension.column.replaceAll('_', ' ');
};
