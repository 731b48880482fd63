import { randomFillSync } from 'node:crypto';
import { processClock } from '@agent-service/runtime/clock';

/** The first letters of an identifier, which say what it names. */
type IdPrefix =
  | 'org'
  | 'usr'
  | 'key'
  | 'app'
  | 'agt'
  | 'tpl'
  | 'conv'
  | 'msg'
  | 'use'
  | 'whk'
  | 'evt'
  | 'dlv'
  | 'hld'
  | 'trf'
  | 'aud'
  | 'ses'
  | 'inv';

const randomWords = new Uint32Array(256);
let wordsUsed = randomWords.length;

/** 32 random bits. The system's source costs as much for one word as for many. */
function nextWord(): number {
  if (wordsUsed === randomWords.length) {
    randomFillSync(randomWords);
    wordsUsed = 0;
  }
  const word = randomWords[wordsUsed] as number;
  wordsUsed += 1;
  return word;
}

/** Those of ULIDs, in lower case. */
const digits = '0123456789abcdefghjkmnpqrstvwxyz';

/** Every pair of them: looking up two at once takes half of the time. */
const pairs = [...digits].flatMap((first) => [...digits].map((second) => first + second));

/** The last digits of a whole number, five bits each, as this many pairs. */
function lastPairs(value: number, count: number): string {
  let text = '';
  let rest = value;
  for (let left = count; left > 0; left -= 1) {
    text = (pairs[rest % pairs.length] as string) + text;
    rest = Math.floor(rest / pairs.length);
  }
  return text;
}

const pairsOfTime = 5;

/** The first digits of an identifier, which are its millisecond. */
export const encodeIdTime = (timeMs: number): string => lastPairs(timeMs, pairsOfTime);
export const decodeIdTime = (text: string): number => [...text].reduce((sum, digit) => sum * digits.length + digits.indexOf(digit), 0);

const pairsOfOrder = 2;
const orders = pairs.length ** pairsOfOrder;
/** One random word fills so many, without two of its bits. */
const pairsOfWord = 3;

/** The time may vary by this between two measurements of the followed clock. A clock that is further back was set. */
const variationMs = 10_000;

interface SortKey {
  readonly timeMs: number;
  readonly order: number;
}

/** The latest ones. */
const sortKeys = new Map<IdPrefix, SortKey>();

/** From here on each order of a millisecond has at least half a million after it. */
const firstOrder = (): number => nextWord() % (orders / 2);

/** The next sort key of an identifier of this kind: in a later millisecond, or behind the one before it. */
function nextSortKey(prefix: IdPrefix, nowMs: number): SortKey {
  const { timeMs, order } = sortKeys.get(prefix) ?? { timeMs: 0, order: 0 };
  // Services refuse messages whose time is far ahead, so the latest time is not used until the clock has come to it.
  const isNew = nowMs > timeMs || nowMs < timeMs - variationMs;
  const isFull = !isNew && order + 1 === orders;
  const sortKey = isNew || isFull ? { timeMs: isFull ? timeMs + 1 : nowMs, order: firstOrder() } : { timeMs, order: order + 1 };
  sortKeys.set(prefix, sortKey);
  return sortKey;
}

/**
 * A new identifier, which has the form of a ULID. Those of one kind that are made later in one process sort later, unless its clock was set
 * back in between. Its last 60 bits are random, so that an identifier tells none of those beside it: an end user continues a conversation
 * by its identifier alone.
 */
export function newId(prefix: IdPrefix, nowMs: number = processClock.now()): string {
  const { timeMs, order } = nextSortKey(prefix, nowMs);
  const random = `${lastPairs(nextWord(), pairsOfWord)}${lastPairs(nextWord(), pairsOfWord)}`;
  return `${prefix}_${encodeIdTime(timeMs)}${lastPairs(order, pairsOfOrder)}${random}`;
}
