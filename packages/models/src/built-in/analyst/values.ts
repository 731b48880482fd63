import type { Schema } from './schema.ts';
import type { Word } from './words.ts';

/** A value that stands in the data and in the question. */
export interface Hit {
  readonly table: string;
  readonly column: string;
  readonly value: string;
}

const longestPhrase = 4;
const mostPhrases = 60;
const common = new Set(
  'a an the of in on for by per and or to is are was were do does did have has how many much what which who show list give me us our we total sum average number count top most least this last next year month week day today all with from'.split(
    ' ',
  ),
);

export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
export const identifier = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : `"${name.replaceAll('"', '""')}"`;

const reserved = new Set(
  'all and any as asc case cast check column create default desc distinct do else end for foreign from grant group having in into limit not null offset on only or order primary references select some table then to union unique user using when where with'.split(
    ' ',
  ),
);

/** Phrases of the question that may be values, the longer ones first. */
export function phrasesOf(words: readonly Word[]): string[] {
  const phrases = new Set<string>();
  for (let length = longestPhrase; length >= 1; length -= 1)
    for (let at = 0; at + length <= words.length; at += 1) {
      const part = words.slice(at, at + length);
      if (part.every(({ lower }) => common.has(lower)) || (length === 1 && /^\d+$/.test(part[0]?.lower ?? ''))) continue;
      phrases.add(part.map(({ lower }) => lower).join(' '));
      if (length === 1) phrases.add(part[0]?.stem as string);
    }
  return [...phrases].slice(0, mostPhrases);
}

/** One query that finds which of the phrases are values of text columns, or undefined where there is nothing to look for. */
export function hitsStatement(words: readonly Word[], schema: Schema): string | undefined {
  const phrases = phrasesOf(words);
  const columns = schema.flatMap((table) => table.columns.filter(({ kind }) => kind === 'text').map((column) => ({ table, column })));
  if (phrases.length === 0 || columns.length === 0) return undefined;
  const list = phrases.map(literal).join(', ');
  return columns
    .map(({ table, column }) => {
      const name = identifier(column.name);
      return `select distinct ${literal(table.name)} as source, ${literal(column.name)} as field, ${name}::text as value from ${identifier(table.name)} where lower(${name}::text) in (${list})`;
    })
    .join(' union all ');
}
