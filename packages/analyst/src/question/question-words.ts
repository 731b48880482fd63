import type { Operation } from '../schema/concepts.ts';
import type { Measure } from '../schema/measures.ts';
import { numberOf, periodWords } from '../words/periods.ts';
import { has, type Word } from '../words/words.ts';
import type { Comparison } from './intent.ts';

const mostGroups = 50;

/** `at least 5` ranks nothing. */
const ranks = (words: readonly Word[], ...phrases: readonly string[]) =>
  has(
    words.filter(({ lower }, at) => !(/^(least|most)$/.test(lower) && words[at - 1]?.lower === 'at')),
    ...phrases,
  );

export const isLeast = (words: readonly Word[]): boolean =>
  ranks(words, 'lowest', 'least', 'smallest', 'cheapest', 'fewest', 'worst', 'bottom', 'slowest', 'shortest');

const isMost = (words: readonly Word[]) =>
  ranks(
    words,
    'top',
    'best',
    'highest',
    'largest',
    'biggest',
    'most',
    'greatest',
    'longest',
    'maximum',
    'best-selling',
    'bestselling',
    'bestseller',
    'strongest',
  );

/** The question asks for the first or last rows by time. */
export const isOfTime = (words: readonly Word[]): boolean => has(words, 'latest', 'newest', 'most recent', 'oldest', 'earliest');

export const isOldest = (words: readonly Word[]): boolean => has(words, 'oldest', 'earliest', 'next', 'upcoming', 'first');

export const isRanking = (words: readonly Word[]): boolean => isMost(words) || isLeast(words);

const shareWords = ['share', 'percentage', 'percent', 'proportion', 'fraction', 'rate'];
export const asksForShare = (words: readonly Word[]): boolean => has(words, ...shareWords);

/** How a number has moved, in percent. */
const changeWords = ['growth', 'grow', 'grew', 'grown', 'change', 'changed', 'increase', 'increased', 'decrease', 'decreased', 'develop'];
export const changeAsked = (words: readonly Word[]): boolean => has(words, ...changeWords);

/** The words of the question that ask for a part in percent, or for a change. */
export const wordsOfShare: ReadonlySet<string> = new Set(shareWords);
export const wordsOfComparison: ReadonlySet<string> = new Set('compare compared comparison versus vs against difference'.split(' '));
export const wordsOfChange: ReadonlySet<string> = new Set(changeWords);

/** The question asks for the rows themselves. */
export const isListing = (words: readonly Word[]): boolean => has(words, 'list', 'show', 'display') && !has(words, 'how many', 'number of');

/** `which customer` and `who` ask for one, `which customers` for several. */
export function asksForOne(words: readonly Word[]): boolean {
  const at = words.findIndex(({ lower }) => lower === 'which' || lower === 'what');
  const noun = words[at + 1];
  return (
    (has(words, 'who') && !has(words, 'who are', 'who were')) ||
    (at >= 0 && noun !== undefined && noun.lower === noun.stem && !/people|staff/.test(noun.lower))
  );
}

const rankingWord =
  /^(top|best|bottom|largest|biggest|highest|lowest|cheapest|worst|smallest|first|most|last|newest|latest|oldest|longest)$/;

/** `top 5`, `5 largest`, `the ten best`; `last 5 months` is a span of time. */
export function topOf(words: readonly Word[]): number | undefined {
  for (const [at, { lower }] of words.entries()) {
    if (!rankingWord.test(lower)) continue;
    const number = numberOf(words[at + 1]?.lower) ?? numberOf(words[at - 1]?.lower);
    if (number !== undefined && number >= 1 && !isGrain(words[at + 2])) return Math.min(mostGroups, Math.floor(number));
  }
  return undefined;
}

const isGrain = (word: Word | undefined) => /^(day|week|month|quarter|year)$/.test(word?.stem ?? '');

interface Asks {
  readonly grouped: boolean;
  /** The table by its name, and not only what is measured of its rows. */
  readonly namesRows: boolean;
}

/** `show the average salary` */
const spokenNumber = (words: readonly Word[]): Operation | undefined => {
  if (has(words, 'median')) return 'median';
  if (has(words, 'average', 'avg', 'mean')) return 'avg';
  return has(words, 'total', 'sum') ? 'sum' : undefined;
};

/** The operation on the numbers; undefined if the question asks for rows. */
export function operationOf(words: readonly Word[], measure: Measure, { grouped, namesRows }: Asks): Operation | undefined {
  // Show revenue asks for a number, and show overdue invoices for invoices.
  if (isListing(words) && !grouped && (namesRows || !measure.operation)) return spokenNumber(words);
  // The highest order total is that of one order.
  const ofRow = isRanking(words) && measure.amount?.column !== undefined;
  if ((isRanking(words) || isOfTime(words)) && !grouped && namesRows && !has(words, 'how many', 'number of', 'how much'))
    return spokenNumber(ofRow ? words.filter(({ lower }) => lower !== measure.amount?.column) : words);
  return spokenOperation(words, measure) ?? impliedOperation(words, measure, grouped);
}

function spokenOperation(words: readonly Word[], measure: Measure): Operation | undefined {
  if (has(words, 'median')) return 'median';
  if (has(words, 'average', 'avg', 'mean', 'typical')) return 'avg';
  if (has(words, 'how many', 'number of', 'count', 'how often') && !isOfUnits(measure)) return 'count';
  if (measure.operation) return measure.operation;
  if (has(words, 'maximum', 'max')) return 'max';
  return has(words, 'minimum', 'min') ? 'min' : undefined;
}

function impliedOperation(words: readonly Word[], { amount }: Measure, grouped: boolean): Operation | undefined {
  if (has(words, 'total', 'sum', 'how much', 'altogether', 'overall')) return 'sum';
  if (!grouped) return asksForShare(words) ? 'count' : undefined;
  return amount ? 'sum' : 'count';
}

/** How many units, or days, is a sum of them. */
const isOfUnits = ({ amount, operation }: Pick<Measure, 'amount' | 'operation'>): boolean =>
  operation === 'sum' && /unit|day/.test(amount?.label ?? '');

const operators: readonly (readonly [phrase: string, operator: Comparison['operator']])[] = [
  ['more than', '>'],
  ['greater than', '>'],
  ['higher than', '>'],
  ['larger than', '>'],
  ['less than', '<'],
  ['lower than', '<'],
  ['fewer than', '<'],
  ['at least', '>='],
  ['at most', '<='],
  ['over', '>'],
  ['above', '>'],
  ['exceeding', '>'],
  ['under', '<'],
  ['below', '<'],
];

/** A comparison, and the words that say it. */
export interface ComparisonPhrase {
  readonly comparison: Comparison;
  readonly at: number;
  /** The index of the word after them. */
  readonly end: number;
  /** `more than 5 times` counts what was done. */
  readonly times: boolean;
}

/** `between 1000 and 2000`; two years are a span of time, unless they follow the name of a number. */
function rangeOf(words: readonly Word[]): ComparisonPhrase | undefined {
  for (const [at, { lower }] of words.entries()) {
    if (lower !== 'between' || periodWords(words).has(at)) continue;
    const [from, to] = [numberOf(words[at + 1]?.lower), numberOf(words[at + 3]?.lower)];
    if (from === undefined || to === undefined || !joinsRange(words[at + 2]) || isGrain(words[at + 4])) continue;
    return { comparison: { operator: '>=', number: from, to }, at, end: at + 4, times: words[at + 4]?.lower === 'times' };
  }
  return undefined;
}

const joinsRange = (word: Word | undefined) => word?.lower === 'and' || word?.lower === 'to';

/** `over 20,000`, `at least 3`, `between 1000 and 2000` */
export function comparisonOf(words: readonly Word[]): ComparisonPhrase | undefined {
  const range = rangeOf(words);
  if (range) return range;
  for (const [phrase, operator] of operators) {
    const parts = phrase.split(' ');
    const at = words.findIndex((_, index) => parts.every((part, offset) => words[index + offset]?.lower === part));
    const number = at < 0 ? undefined : numberOf(words[at + parts.length]?.lower);
    const end = at + parts.length + 1;
    if (number !== undefined && !isGrain(words[end]))
      return { comparison: { operator, number }, at, end, times: words[end]?.lower === 'times' };
  }
  return undefined;
}
