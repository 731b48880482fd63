import { dimensionPhrases } from '../schema/dimensions.ts';
import type { Hit } from '../schema/values.ts';
import { periodWords } from '../words/periods.ts';
import { has, type Word, wordsOf } from '../words/words.ts';
import type { Intent } from './intent.ts';

/** In words. */
export const longestFollowUp = 8;
const mostTurns = 10;

const begins = /^(and|but|only|just|by|per|without|except|excluding|what about|how about)$/;
const asks = /^(how|what|which|who|whom|whose|list|show|give|display|compare)$/;

/** `and last month?`, `by country?`, `only for Germany`, `how many of them` continue the previous question. */
export function continuesPrevious(words: readonly Word[]): boolean {
  if (words.length === 0 || words.length > longestFollowUp) return false;
  if (has(words, 'of them', 'of those', 'of these', 'them', 'those')) return true;
  const [first, second] = [words[0]?.lower ?? '', words[1]?.lower ?? ''];
  return begins.test(`${first} ${second}`) || (begins.test(first) && !asks.test(second));
}

interface Combined {
  readonly words: readonly Word[];
  /** How many of them are of the newest message. */
  readonly own: number;
}

/** Joins the message with the words of earlier messages that still apply: a new period replaces the old one. */
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

/** True for a message that names a subject; a shorter one such as `last month?` continues the one before it. */
const standsAlone = (words: readonly Word[]) => !continuesPrevious(words) && words.length > shortest;
const shortest = 3;

interface LatestWords {
  readonly words: readonly Word[];
  readonly hits: readonly Hit[];
}

/** A value of the newest message replaces earlier values of the same column. */
export function latest(hits: readonly Hit[], { words, own }: Combined): LatestWords {
  const now = hits.filter((hit) => isIn(hit, words.slice(0, own)));
  const isReplaced = (hit: Hit) => !now.includes(hit) && now.some(({ table, column }) => table === hit.table && column === hit.column);
  const replaced = hits.filter(isReplaced);
  const replacedWords = new Set(replaced.flatMap(({ value }) => wordsOf(value).map(({ lower }) => lower)));
  const left = words.filter(({ lower, stem }, at) => at < own || !(replacedWords.has(lower) || replacedWords.has(stem)));
  return { words: left, hits: hits.filter((hit) => !replaced.includes(hit)) };
}

const isIn = ({ value }: Hit, words: readonly Word[]) =>
  wordsOf(value).every(({ lower }) => words.some((word) => word.lower === lower || word.stem === lower));

/** Columns of days that are planned ahead. */
const planned =
  /^(due|expect|start|begin|end|schedul|plan|deadline|expir|valid|until|renew|deliver(y|ies)|arriv|depart|appointment|event|book|reserv|target|matur)/;

/** Columns of days on which something has happened. */
const happened =
  /^(order|issued|paid|created|updated|shipped|received|requested|approved|last|registered|signed|sold|joined|recorded|logged|posted|delivered)/;

/** True for a question about the future that the data cannot answer, unlike questions for planned days such as due dates. */
export function foretells(intent: Intent, words: readonly Word[]): boolean {
  const span = intent.span ?? intent.without?.span;
  const column = (span ?? intent.day)?.column ?? '';
  if (words.some((word, at) => isWill(word, words[at + 1]))) return !planned.test(column);
  return span?.period.ahead === true && happened.test(column);
}

/** `will you show me` is a request. */
const isWill = ({ lower }: Word, next: Word | undefined) =>
  (lower === 'will' && next?.lower !== 'you') || (lower === 'shall' && !/^(we|i)$/.test(next?.lower ?? ''));
