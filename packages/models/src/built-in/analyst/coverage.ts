import { wordsOfChange, wordsOfComparison, wordsOfShare } from './asking.ts';
import { near, verbs } from './columns.ts';
import { beginsGroups } from './dimensions.ts';
import type { Filtered } from './filters.ts';
import type { Intent } from './intent.ts';
import { mentionedTables, namesOf } from './measures.ts';
import { numberOf } from './periods.ts';
import { pathTo } from './schema.ts';
import type { Hit } from './values.ts';
import { isAsking, isTurning } from './vocabulary.ts';
import { stemOf, stemsOfName, type Word, wordsOf } from './words.ts';

/** The words of a question that an intent says nothing of, so that none is passed over in silence. */
export function unplacedIn(intent: Intent, question: Filtered): Word[] {
  const placed = placedStems(intent, question);
  const turned =
    intent.without !== undefined || intent.hits.some(({ excluded }) => excluded) || intent.conditions.some(({ turns }) => turns);
  return question.words.filter((word) => {
    if (isTurning(word)) return !turned && !placed.has(word.stem);
    if (/^\d/.test(word.lower))
      return !numbersOf(intent).some((number) => number === word.lower || number === String(numberOf(word.lower)));
    return !isAsking(word) && !placed.has(word.stem) && !placed.has(word.lower);
  });
}

function placedStems(intent: Intent, { schema, concept, words }: Filtered): Set<string> {
  const { base, hits, conditions, span, day, without } = intent;
  const figure = intent.kind === 'figure' ? intent : undefined;
  const tables = [base.name, ...hits.map(({ table }) => table), ...(without ? [without.table.name] : []), ...reached()];
  const columns = [
    ...hits.map(({ column }) => column),
    ...conditions.filter(({ asked }) => asked).map(({ column }) => column),
    ...(figure?.dimensions ?? []).flatMap((dimension) => (dimension.kind === 'column' ? [dimension.column] : [])),
    ...(intent.kind === 'list' && intent.orderBy ? [intent.orderBy.column] : []),
    ...[span?.column, without?.span?.column].filter((column) => column !== undefined),
    ...(figure?.dimensions.some(({ kind }) => kind === 'time') && day ? [day.column] : []),
    ...(figure?.amount?.column === undefined ? [] : [figure.amount.column]),
  ];
  const label = wordsOf(figure?.amount?.label ?? '').map(({ stem }) => stem);
  const names = [...label, ...tables.flatMap((name) => namesOf(name).flat()), ...columns.flatMap(stemsOfName)];
  const said = columns.flatMap((column) => [...verbs(column), ...(near.get(column) ?? []).flatMap((phrase) => phrase.split(' '))]);
  const percents = [
    ...(figure?.share || figure?.rate ? wordsOfShare : []),
    ...(figure?.change ? wordsOfChange : []),
    ...(figure?.versus || figure?.dimensions.length ? wordsOfComparison : []),
  ];
  return new Set([...percents, ...concept, ...names, ...said.map(stemOf), ...said, ...labelsOf(intent), ...hits.flatMap(valueStems)]);

  /** Whose rows the base leads to: `payments from customers`. */
  function reached(): string[] {
    return mentionedTables(words, schema).flatMap(({ table }) => (pathTo(schema, base, table.name) ? [table.name] : []));
  }
}

const valueStems = ({ value }: Hit) => wordsOf(value).flatMap(({ lower, stem }) => [lower, stem]);

const labelsOf = (intent: Intent): string[] => periodLabels(intent).flatMap((label) => wordsOf(label).map(({ stem }) => stem));

const periodLabels = ({ span, without, ...intent }: Intent): string[] =>
  [span?.period.label, without?.span?.period.label, 'versus' in intent ? intent.versus?.label : undefined].filter(
    (label) => label !== undefined,
  );

function numbersOf(intent: Intent): string[] {
  const having = intent.kind === 'figure' ? intent.having?.number : undefined;
  const numbers = [intent.comparison?.number, having, intent.limited ? intent.limit : undefined];
  const texts = [...periodLabels(intent), ...intent.hits.map(({ value }) => value)];
  return [
    ...numbers.filter((number) => number !== undefined).map(String),
    ...texts.flatMap((text) => wordsOf(text).map(({ lower }) => lower)),
  ];
}

export interface Doubts {
  /** Names that stand nowhere in the data. */
  readonly names: readonly string[];
  /** Words such as `never`, which would turn the answer round. */
  readonly turning: readonly string[];
  /** What rows were to be put together by. */
  readonly groups: readonly string[];
  readonly others: readonly string[];
}

/** What the words without a place are: neighbours make one name. */
export function doubtsOf(unplaced: readonly Word[], words: readonly Word[]): Doubts {
  const doubts = { names: [] as string[], groups: [] as string[], others: [] as string[] };
  const tellsNames = namesStandOut(words);
  for (const [at, word] of words.entries()) {
    if (!unplaced.includes(word) || isTurning(word)) continue;
    const before = words[at - 1];
    if (before && beginsGroups(before)) doubts.groups.push(word.text);
    else if (before && tellsNames && startsHigh(word.text)) addName(doubts.names, word, unplaced.includes(before) ? before : undefined);
    else doubts.others.push(word.text);
  }
  return { ...doubts, turning: unplaced.filter(isTurning).map(({ text }) => text) };
}

function addName(names: string[], word: Word, before: Word | undefined): void {
  const last = names.at(-1);
  if (before && last?.endsWith(before.text)) names.splice(-1, 1, `${last} ${word.text}`);
  else names.push(word.text);
}

/** In a question where every word has a capital it says nothing. */
const namesStandOut = (words: readonly Word[]) =>
  words.length <= 4 || words.filter(({ text }) => startsHigh(text)).length <= words.length / 2;

const startsHigh = (text: string) => /^\p{Lu}/u.test(text);
