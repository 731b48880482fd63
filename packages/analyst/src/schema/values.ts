import type { Word } from '../words/words.ts';
import { columnName, literal, type Schema, type Table } from './schema.ts';

/** A value that stands in the data and in the question. */
export interface Hit {
  readonly table: string;
  readonly column: string;
  readonly value: string;
  /** `not cancelled`, `except Germany` */
  readonly excluded?: boolean;
}

const longestPhrase = 4;
const mostPhrases = 150;
/** Reading every row of a larger table to recognize a word would cost more than the answer. */
const mostRows = 1_000_000;
const longestStatement = 15_000;
const longestList = 6_000;

const common = new Set(
  'a an the of in on for by per and or to is are was were do does did have has how many much what which who show list give me us our we total sum average number count top most least this last next year month week day today all with from'.split(
    ' ',
  ),
);

/** Phrases of the question that may be values, the longer ones first. */
function phrasesOf(words: readonly Word[]): string[] {
  const phrases = new Set<string>();
  for (let length = longestPhrase; length >= 1; length -= 1)
    for (let at = 0; at + length <= words.length; at += 1) {
      const part = words.slice(at, at + length);
      if (part.every(({ lower }) => common.has(lower))) continue;
      if (length === 1 && /^\d+$/.test(part[0]?.lower ?? '')) continue;
      phrases.add(part.map(({ lower }) => lower).join(' '));
      if (length === 1) phrases.add(part[0]?.stem as string);
    }
  return [...phrases].slice(-mostPhrases);
}

/** Queries that find which of the phrases are values of text columns; each table is read once. */
export function hitsStatements(words: readonly Word[], schema: Schema): string[] {
  const list = listOf(phrasesOf(words));
  const searched = schema.filter(({ rows, columns }) => (rows ?? 0) <= mostRows && columns.some(({ kind }) => kind === 'text'));
  if (list === '' || searched.length === 0) return [];
  const groups: string[][] = [[]];
  for (const part of searched.map((table) => valuesOf(table))) {
    const last = groups.at(-1) as string[];
    if (last.length > 0 && last.join('').length + part.length + list.length > longestStatement) groups.push([part]);
    else last.push(part);
  }
  return groups.map(
    (parts) =>
      `select distinct source, field, value from (${parts.join(' union all ')}) found where translate(lower(value), '_', ' ') in (${list})`,
  );
}

function listOf(phrases: readonly string[]): string {
  const literals: string[] = [];
  let length = 0;
  for (const phrase of phrases.toReversed()) {
    length += phrase.length + 4;
    if (length > longestList) break;
    literals.push(literal(phrase));
  }
  return literals.join(', ');
}

function valuesOf({ name, written, columns }: Table): string {
  const texts = columns.filter(({ kind }) => kind === 'text');
  const pairs = texts.map((column) => `(${literal(column.name)}, t.${columnName(column.name)}::text)`).join(', ');
  return `select ${literal(name)} as source, v.field, v.value from ${written} t cross join lateral (values ${pairs}) v(field, value)`;
}
