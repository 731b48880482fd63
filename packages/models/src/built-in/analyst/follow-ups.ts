import { dimensionPhrases } from './dimensions.ts';
import { periodWords } from './periods.ts';
import type { Hit } from './values.ts';
import { has, type Word, wordsOf } from './words.ts';

const longestFollowUp = 8;
const mostTurns = 5;

/** `and last month?`, `by country?`, `only for Germany`, `how many of them` go on from what was asked before. */
export function goesOn(words: readonly Word[]): boolean {
  if (words.length === 0 || words.length > longestFollowUp) return false;
  const begins =
    /^(and|but|only|just|by|per|in|for|from|of|same|now|then|without|except|excluding|instead|also|what about|how about|last|this|next|yesterday|today)$/;
  const first = words[0]?.lower ?? '';
  return begins.test(first) || begins.test(`${first} ${words[1]?.lower}`) || has(words, 'of them', 'of those', 'of these', 'them', 'those');
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
    if (!goesOn(before)) break;
  }
  return { words: all, own: words.length };
}

function stillSaid(before: readonly Word[], now: readonly Word[]): Word[] {
  const replaced = new Set<number>();
  if (periodWords(now).size > 0) for (const at of periodWords(before)) replaced.add(at);
  if (dimensionPhrases(now).size > 0) for (const at of dimensionPhrases(before)) replaced.add(at);
  return before.filter((_, at) => !replaced.has(at));
}

/** A value that is named now takes the place of one of the same column that was named before. */
export function latest(hits: readonly Hit[], { words, own }: Combined): Hit[] {
  const isIn = ({ value }: Hit, among: readonly Word[]) =>
    wordsOf(value).every(({ lower }) => among.some((word) => word.lower === lower || word.stem === lower));
  const now = hits.filter((hit) => isIn(hit, words.slice(0, own)));
  const replaced = (hit: Hit) => !now.includes(hit) && now.some(({ table, column }) => table === hit.table && column === hit.column);
  return hits.filter((hit) => !replaced(hit));
}
