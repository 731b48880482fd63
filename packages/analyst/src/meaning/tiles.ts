import { type Concept, concepts } from '../schema/concepts.ts';
import { daysOfVerb, namesOf, namesOfColumn } from '../schema/roles.ts';
import type { Column, Schema, Table } from '../schema/schema.ts';
import type { Value, ValueIndex } from '../schema/value-index.ts';
import { grainOf, type Period, type TimeGroup } from '../words/grains.ts';
import { spansIn } from '../words/periods.ts';
import { isFiller, type Tag, tagsOf } from '../words/phrases.ts';
import { signedNumberOf, toWords, type Word, wordsOf } from '../words/words.ts';

export interface ColumnMeaning {
  readonly table: Table;
  readonly column: Column;
}

/** A phrase of the question with everything that it may mean. */
export interface Tile {
  /** The position of its first word. */
  readonly at: number;
  readonly words: readonly Word[];
  readonly tags: readonly Tag[];
  readonly tables: readonly Table[];
  readonly columns: readonly ColumnMeaning[];
  /** Columns of days that a verb names. */
  readonly days: readonly ColumnMeaning[];
  readonly values: readonly Value[];
  readonly concepts: readonly Concept[];
  readonly period?: Period;
  readonly grain?: TimeGroup;
  readonly number?: number;
  readonly isFiller: boolean;
}

export interface Vocabulary {
  readonly schema: Schema;
  readonly index: ValueIndex;
  readonly conceptsOf: ReadonlyMap<string, readonly Concept[]>;
  readonly tablesOf: ReadonlyMap<string, readonly Table[]>;
  readonly columnsOf: ReadonlyMap<string, readonly ColumnMeaning[]>;
}

const maxPhraseWords = 6;

/** Everything that the words of a question can name in these data. */
export function vocabularyOf(schema: Schema, index: ValueIndex): Vocabulary {
  const add = <T>(map: Map<string, T[]>, key: string, value: T) => {
    const values = map.get(key);
    if (values) values.push(value);
    else map.set(key, [value]);
  };
  const [conceptsOf, tablesOf, columnsOf] = [new Map<string, Concept[]>(), new Map<string, Table[]>(), new Map<string, ColumnMeaning[]>()];
  for (const concept of concepts)
    if (concept.sources(schema).some(({ base }) => schema.some(({ name }) => name === base)))
      for (const phrase of concept.phrases) add(conceptsOf, phrase, concept);
  for (const table of schema) {
    for (const name of [...namesOf(table.name).map((stems) => stems.join(' ')), ...nameWithSigns(table.name)]) add(tablesOf, name, table);
    for (const { column, name } of namedColumns(table)) add(columnsOf, name, { table, column });
  }
  return { schema, index, conceptsOf, tablesOf, columnsOf };
}

/** `price/unit` as a question has it, with its signs. */
function nameWithSigns(name: string): string[] {
  const words = wordsOf(toWords(name));
  return words.some(({ text }) => !/[\p{L}\p{N}]/u.test(text)) ? [words.map(({ stem }) => stem).join(' ')] : [];
}

/** The columns of a table by each of their names; `amount` is the column of that name before the one that is called unit_amount. */
function namedColumns({ columns }: Table): { readonly column: Column; readonly name: string }[] {
  const named = columns.flatMap((column) =>
    [...new Set([...namesOfColumn(column).map((stems) => stems.join(' ')), ...nameWithSigns(column.name)])].map((name, position) => ({
      column,
      name,
      position,
    })),
  );
  return named.toSorted((a, b) => Math.min(a.position, 1) - Math.min(b.position, 1));
}

/** Divides the words into the longest phrases that mean something. */
export function tilesOf(words: readonly Word[], vocabulary: Vocabulary, previous?: Period): Tile[] {
  const spans = new Map(spansIn(words, previous).map((span) => [span.at, span]));
  const tiles: Tile[] = [];
  for (let at = 0; at < words.length; ) {
    const span = spans.get(at);
    const tile = span?.period
      ? periodTile(words.slice(at, at + span.length), at, span.period)
      : longestTile(words, at, vocabulary, nextSpan(spans, at));
    tiles.push(tile);
    at += tile.words.length;
  }
  return tiles;
}

const nextSpan = (spans: ReadonlyMap<number, { readonly period: Period | undefined }>, at: number): number =>
  Math.min(...[...spans].filter(([start, { period }]) => start > at && period).map(([start]) => start), Number.POSITIVE_INFINITY);

const nothing = { tags: [], tables: [], columns: [], days: [], values: [], concepts: [], isFiller: false } as const;

const periodTile = (words: readonly Word[], at: number, period: Period): Tile => ({ ...nothing, at, words, period });

function longestTile(words: readonly Word[], at: number, vocabulary: Vocabulary, end: number): Tile {
  for (let length = Math.min(maxPhraseWords, words.length - at, end - at); length > 1; length -= 1) {
    const tile = tileOf(words.slice(at, at + length), at, vocabulary);
    if (hasMeaning(tile)) return tile;
  }
  return tileOf(words.slice(at, at + 1), at, vocabulary);
}

const hasMeaning = ({ tags, tables, columns, days, values, concepts: named, period, grain, number }: Tile): boolean =>
  [tags, tables, columns, days, values, named].some(({ length }) => length > 0) ||
  period !== undefined ||
  grain !== undefined ||
  number !== undefined;

function tileOf(words: readonly Word[], at: number, { schema, index, conceptsOf, tablesOf, columnsOf }: Vocabulary): Tile {
  const stems = words.map(({ stem }) => stem);
  const phrase = stems.join(' ');
  const [word] = words as [Word];
  const single = words.length === 1;
  const named = conceptsOf.get(phrase) ?? [];
  const tile = {
    at,
    words,
    tags: tagsOf(stems),
    tables: tablesOf.get(phrase) ?? [],
    // `our best day` is no number of days.
    columns: single && grainOf(word) === word.lower ? [] : (columnsOf.get(phrase) ?? []),
    days: single ? daysOfVerb(word.lower, schema) : [],
    values: valuesIn(
      words,
      index,
      named.some(({ unit, label }) => unit === 'days' || label === 'people on leave'),
    ).filter(({ value }) => !isCommon(words, named.length) || value === word.text),
    concepts: named,
    isFiller: single && isFiller(word.lower),
  };
  const [grain, number] = single ? [word.stem === 'weekday' ? ('weekday' as const) : grainOf(word), signedNumberOf(word.lower)] : [];
  return { ...tile, ...(grain && { grain }), ...(number !== undefined && { number }) };
}

/** A word of grammar or of business names a value only as it is written there: IT is a department, it is not. */
const isCommon = (words: readonly Word[], terms: number) =>
  words.length === 1 &&
  (isFiller(words[0]?.lower ?? '') || tagsOf([words[0]?.stem ?? '']).length > 0 || terms > 0) &&
  !/^(overdue|late|unpaid|active)$/.test(words[0]?.lower ?? '');

/** Names of people's countries by the country, where the one does not begin with the other. */
const demonyms = new Map(
  Object.entries({
    french: 'france',
    dutch: 'netherlands',
    spanish: 'spain',
    polish: 'poland',
    swedish: 'sweden',
    swiss: 'switzerland',
    danish: 'denmark',
    british: 'united kingdom',
    irish: 'ireland',
    portuguese: 'portugal',
    greek: 'greece',
    turkish: 'turkey',
    chinese: 'china',
    japanese: 'japan',
  }),
);

/** The values that a phrase names: as it is written, by its words, in the singular, or as a form of the same word. A term of business keeps those inside of it. */
function valuesIn(words: readonly Word[], index: ValueIndex, isConcept: boolean): readonly Value[] {
  const lower = words.map((word) => word.lower).join(' ');
  const written = words.map((word, at) => `${word.written}${at < words.length - 1 ? word.after : ''}`).join('');
  const stems = words.map(({ stem }) => stem).join(' ');
  // `Alder Inc.` and `Tier 1 (EU)` end with punctuation, there and maybe in the data.
  const tail = /^\S*/.exec(words.at(-1)?.after ?? '')?.[0] ?? '';
  const phrases = [...Array.from(tail, (_, at) => `${written}${tail.slice(0, tail.length - at)}`), written, lower, stems];
  const values = phrases.map((phrase) => index.find(phrase)).find(({ length }) => length > 0) ?? [];
  if (values.length > 0) return values;
  if (isConcept && words.length > 1) return words.flatMap((word) => (word.lower.length > 2 ? index.find(word.lower) : []));
  const [only] = words as [Word];
  if (words.length > 1 || only.lower.length < 5) return [];
  const people = demonyms.get(only.lower) ?? only.lower.replace(/^(.*[^aeiou])(an|ian|n)$/, '$1');
  const countries = [only.lower.replace(/an$/, 'any'), only.lower.replace(/ian$/, 'ia'), only.lower.replace(/ian$/, 'y'), people];
  return countries.flatMap((name) => (name === only.lower ? [] : index.find(name)));
}

/** Values of the same root as a noun: cancellation, cancelled. */
export function valuesOfRoot(noun: string, index: ValueIndex, values: readonly string[]): readonly Value[] {
  const root = noun.replace(/(ations?|ions?|ings?|als?|ments?)$/, '');
  return values
    .filter((value) => root.length >= 4 && value.toLowerCase().startsWith(root))
    .flatMap((value) => index.find(value.toLowerCase()));
}
