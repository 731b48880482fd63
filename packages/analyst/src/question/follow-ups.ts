import { dimensionPhrases } from './dimensions.ts';
import { periodWords } from './periods.ts';
import type { Hit } from './values.ts';
import { has, type Word, wordsOf } from './words.ts';

/** In words. */
export const longestFollowUp = 8;
const mostTurns = 10;

const begins = /^(and|but|only|just|by|per|without|except|excluding|what about|how about)$/;
const asks = /^(how|what|which|who|whom|whose|list|show|give|display|compare)$/;

/** `and last month?`, `by country?`, `only for Germany`, `how many of them` go on from what was asked before. */
export function goesOn(words: readonly Word[]): boolean {
  if (words.length === 0 || words.length > longestFollowUp) return false;
  if (has(words, 'of them', 'of those', 'of these', 'them', 'those')) return true;
  const [first, second] = [words[0]?.lower ?? '', words[1]?.lower ?? ''];
  return begins.test(`${first} ${second}`) || (begins.test(first) && !asks.test(second));
}

export interface Combined {
  readonly words: readonly Word[];
  /** How many of them were said last. */
  readonly own: number;
}

/** What is said now, then what of the turns before it still holds: a new span of time takes the place of the old one. */
export function combine(words: readonly Word[], earlier: readonly string[], longest: number): Combined {
  let all = [...words];
  for (const text of earlier.slice(-mostTurns).toReversed()) {
    const before = wordsOf(text).slice(0, longest);
    all = [...all, ...stillSaid(before, all)];
    if (before.length > longestFollowUp || standsAlone(before)) break;
  }
  return { words: all, own: words.length };
}

function stillSaid(before: readonly Word[], now: readonly Word[]): Word[] {
  const replaced = new Set<number>();
  if (periodWords(now).size > 0) for (const at of periodWords(before)) replaced.add(at);
  if (dimensionPhrases(now).size > 0) for (const at of dimensionPhrases(before)) replaced.add(at);
  return before.filter((_, at) => !replaced.has(at));
}

/** What names something to ask of; a shorter turn such as `last month?` went on itself. */
const standsAlone = (words: readonly Word[]) => !goesOn(words) && words.length > shortest;
const shortest = 3;

export interface Said {
  readonly words: readonly Word[];
  readonly hits: readonly Hit[];
}

/** A value that is named now takes the place of one of the same column that was named before. */
export function latest(hits: readonly Hit[], { words, own }: Combined): Said {
  const now = hits.filter((hit) => isIn(hit, words.slice(0, own)));
  const isReplaced = (hit: Hit) => !now.includes(hit) && now.some(({ table, column }) => table === hit.table && column === hit.column);
  const replaced = hits.filter(isReplaced);
  const gone = new Set(replaced.flatMap(({ value }) => wordsOf(value).map(({ lower }) => lower)));
  const left = words.filter(({ lower, stem }, at) => at < own || !(gone.has(lower) || gone.has(stem)));
  return { words: left, hits: hits.filter((hit) => !replaced.includes(hit)) };
}

const isIn = ({ value }: Hit, words: readonly Word[]) =>
  wordsOf(value).every(({ lower }) => words.some((word) => word.lower === lower || word.stem === lower));
