import { setImmediate } from 'node:timers/promises';
import { contextCondition } from '../conditions/conditions.ts';
import { candidatesOf } from '../meaning/candidates.ts';
import type { Intent } from '../meaning/intent.ts';
import { type Tile, tilesOf, type Vocabulary } from '../meaning/tiles.ts';
import type { Schema } from '../schema/schema.ts';
import { pathTo } from '../schema/schema.ts';
import type { ValueIndex } from '../schema/value-index.ts';
import { wordsOf } from '../words/words.ts';
import { type Attempt, assemble } from './assemble.ts';
import { currenciesBeside, mixedCurrencies } from './currencies.ts';
import { asksYesOrNo, continueIntent, continuesPrevious } from './follow-ups.ts';

export interface Interpretation {
  readonly tiles: readonly Tile[];
  readonly intent: Intent | undefined;
  /** The words that nothing accounts for; an answer would pass over them. */
  readonly unused: readonly Tile[];
  /** The part that was understood, where the rest was not. */
  readonly partly: Intent | undefined;
  readonly foretells: boolean;
  /** It continues the previous question. */
  readonly continues: boolean;
  /** It asks why the figure changed. */
  readonly why: boolean;
  /** It has more words or characters than are read, and no meaning: a filter may be among those that are not. */
  readonly isTooLong: boolean;
}

export const maxWords = 60;
export const maxLength = 4_000;
const maxTurns = 10;
const maxCandidates = 200;

/**
 * The meaning of the newest message. Earlier messages count as far as they were understood; one that was not adds nothing. Between two
 * messages the process does other work: a long one about many tables takes a while, and other answers have leases to renew.
 */
export async function interpret(
  message: string,
  earlier: readonly string[],
  vocabulary: Vocabulary,
  hasContext: boolean,
): Promise<Interpretation> {
  let before: Before = { previous: undefined, isFirst: earlier.length <= maxTurns, hasContext };
  for (const text of earlier.slice(-maxTurns)) {
    await setImmediate();
    const { intent, unused } = interpretTurn(text, vocabulary, before);
    before = { ...before, isFirst: false, ...(intent && unused.length === 0 && { previous: intent }) };
  }
  return interpretTurn(message, vocabulary, before);
}

interface Before {
  /** The last question that was understood. */
  readonly previous: Intent | undefined;
  /** No message is before it, not even one that was refused. */
  readonly isFirst: boolean;
  readonly hasContext: boolean;
}

/** True for a text that is understood without the messages before it, and has an answer. */
export const isUnderstoodAlone = (text: string, vocabulary: Vocabulary): boolean => {
  const { intent } = interpretTurn(text, vocabulary, { previous: undefined, isFirst: true, hasContext: false });
  return intent !== undefined && mixedCurrencies(currenciesBeside(intent, vocabulary)) === undefined;
};

function interpretTurn(text: string, vocabulary: Vocabulary, before: Before): Interpretation {
  const { schema, index } = vocabulary;
  const { previous } = before;
  const words = wordsOf(text.slice(0, maxLength));
  const tiles = tilesOf(words.slice(0, maxWords), vocabulary, previous?.span?.period);
  if (text.length > maxLength || words.length > maxWords) return { ...uninterpreted, tiles, isTooLong: true };
  const alone = bestOf(
    candidatesOf(tiles, vocabulary)
      .slice(0, maxCandidates)
      .map((candidate) => assemble(candidate, tiles, vocabulary, before.hasContext)),
  );
  const together = previous && continuesPrevious(tiles) ? continueIntent(previous, tiles, schema, index) : undefined;
  const isTogether = together?.intent !== undefined && together.unused.length === 0;
  const attempt = isTogether ? together : alone;
  const isJudgement = tiles[0] !== undefined && asksYesOrNo(tiles[0]) && attempt?.isMentioned === false;
  const isQuestion = isTogether || !isFragment(tiles, { alone, together }, before);
  const isWhole = isQuestion && !isJudgement && attempt?.intent !== undefined && attempt.unused.length === 0;
  return {
    tiles,
    intent: isWhole ? attempt.intent : undefined,
    unused: attempt?.unused ?? tiles.filter(({ isFiller }) => !isFiller),
    partly: attempt?.intent,
    foretells: attempt?.foretells ?? false,
    continues: isTogether,
    why: attempt?.why ?? false,
    isTooLong: false,
  };
}

const verbs = /^(is|are|was|were|do|does|did|has|have|had|can)$/;

const uninterpreted = { intent: undefined, unused: [], partly: undefined, foretells: false, continues: false, why: false } as const;

interface Attempts {
  readonly alone: Attempt | undefined;
  /** It continues the question before. */
  readonly together: Attempt | undefined;
}

/**
 * `what about France?` is no question of its own, nor are `by country?` and `in Germany?`, which name no rows; and `total?` after the five
 * largest invoices is not that of other rows.
 */
function isFragment(tiles: readonly Tile[], { alone, together }: Attempts, { isFirst }: Before): boolean {
  const begins = (tags: RegExp) => tiles[0]?.tags.some((tag) => tags.test(tag)) === true;
  if (begins(/^(continue|and|only)$/) || (!isFirst && refersBack(tiles))) return true;
  if (together?.isUnclear && together.unused.length === 0 && alone?.isMentioned === false) return true;
  if (alone?.isMentioned !== false || alone.intent?.quantity !== undefined) return false;
  // `without cancelled` is about a value, also where another table has a day of this name.
  if (begins(/^(by|without)$/)) return true;
  return !isFirst && !asks(tiles) && !tiles.some(({ days }) => days.length > 0);
}

/** `how many are discontinued`, `list what is pending`; `show by country` says no more than `by country`. */
function asks(tiles: readonly Tile[]): boolean {
  const has = (words: RegExp) => tiles.some((tile) => words.test(tile.words[0]?.lower ?? ''));
  const hasTag = (name: RegExp) => tiles.some(({ tags }) => tags.some((tag) => name.test(tag)));
  return hasTag(/^(count|howMuch|which|who|when)$/) || has(verbs) || (has(/^(list|show|give|find)$/) && !hasTag(/^by$/));
}

/** `how many appointments do they have`, `how many orders was that`, `from which suppliers`: the words need the question before. */
function refersBack(tiles: readonly Tile[]): boolean {
  const phrases = tiles.map(({ words }) => words.map(({ lower }) => lower).join(' '));
  const isPart = /^(from|with|by|of|at|for|than|in) (which|what|how many)\b/.test(phrases.join(' '));
  const hasVerb = phrases.some((words) => verbs.test(words));
  return (
    (isPart && !hasVerb) ||
    /^(that|those|these|this|it)$/.test(phrases.at(-1) ?? '') ||
    phrases.some((words) => /^(they|them|their)$/.test(words))
  );
}

/** The attempt that leaves the fewest words; of several the first one. */
const bestOf = (attempts: readonly Attempt[]): Attempt | undefined => attempts.toSorted((a, b) => costOf(a) - costOf(b))[0];

/** A question that is a question comes before one that is none, and one about a table that is mentioned before one about another. */
const costOf = ({ unused, intent, isMentioned }: Attempt) =>
  unused.reduce((sum, { words }) => sum + words.length, 0) + (intent ? 0 : 0.5) + (isMentioned ? 0 : 0.1);

export interface Context {
  readonly intent: Intent;
  /** The keys whose values limit the rows. */
  readonly used: readonly string[];
  readonly unused: readonly string[];
}

const settings = /^(locale|language|lang|time_?zone|currency)$/i;
/** Further values limit no rows. */
const maxValues = 20;

/** Limits the rows to what a program gave beside the question, where a column holds it and the question names nothing else. */
export function withContext(intent: Intent, context: string, schema: Schema, index: ValueIndex): Context {
  const all = valuesOf(context).filter(([key]) => !settings.test(key));
  const entries = all.slice(0, maxValues);
  const conditions = entries.map(([key, value]) => contextCondition(key, value, schema, index));
  const applies = conditions.map((condition) => condition?.tables.every((table) => pathTo(schema, intent.base, table)) === true);
  const isOverruled = conditions.map((condition) => intent.conditions.some(({ key }) => key === condition?.key));
  const added = conditions
    .filter((condition, at) => condition && applies[at] && !isOverruled[at])
    .map((condition) => condition as NonNullable<typeof condition>);
  return {
    intent: { ...intent, conditions: [...intent.conditions, ...added] },
    used: added.map(({ label }) => label),
    unused: all.filter((_, at) => !applies[at] || isOverruled[at]).map(([key]) => key),
  };
}

/** `{"customer": {"name": "Alder"}}` gives customer and its name. */
function valuesOf(context: string): [key: string, value: string | number][] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(context);
  } catch {
    return [];
  }
  const flat = (value: unknown, key: string): [string, string | number][] => {
    if (typeof value === 'string' || typeof value === 'number') return [[key, value]];
    if (value === null || typeof value !== 'object') return [];
    return Object.entries(value).flatMap(([name, inner]) =>
      flat(inner, key === '' ? name : /^(id|name)$/.test(name) ? `${key}_${name}`.replace(/_name$/, '') : name),
    );
  };
  return flat(parsed, '');
}
