import { near, verbs } from './columns.ts';
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
    ...conditions.filter(({ turns }) => turns).map(({ column }) => column),
    ...(figure?.dimensions ?? []).flatMap((dimension) => (dimension.kind === 'column' ? [dimension.column] : [])),
    ...(intent.kind === 'list' && intent.orderBy ? [intent.orderBy.column] : []),
    ...[span?.column, without?.span?.column].filter((column) => column !== undefined),
    ...(figure?.dimensions.some(({ kind }) => kind === 'time') && day ? [day.column] : []),
    (figure?.amount?.label ?? '').replaceAll(' ', '_'),
  ];
  const names = [...tables.flatMap((name) => namesOf(name).flat()), ...columns.flatMap(stemsOfName)];
  const said = columns.flatMap((column) => [...verbs(column), ...(near.get(column) ?? []).flatMap((phrase) => phrase.split(' '))]);
  return new Set([...concept, ...names, ...said.map(stemOf), ...said, ...labelsOf(intent), ...hits.flatMap(valueStems)]);

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
  readonly others: readonly string[];
}

/** What the words without a place are: neighbours make one name. */
export function doubtsOf(unplaced: readonly Word[], words: readonly Word[]): Doubts {
  const capitals = words.filter(({ text }) => startsHigh(text)).length;
  const tellsNames = capitals <= words.length / 2 || words.length <= 4;
  const names: string[] = [];
  const others: string[] = [];
  for (const [at, word] of words.entries()) {
    if (!unplaced.includes(word) || isTurning(word)) continue;
    const isName = tellsNames && at > 0 && startsHigh(word.text);
    const before = words[at - 1];
    if (isName && before && unplaced.includes(before) && names.at(-1)?.endsWith(before.text)) names.push(`${names.pop()} ${word.text}`);
    else (isName ? names : others).push(word.text);
  }
  return { names, turning: unplaced.filter(isTurning).map(({ text }) => text), others };
}

const startsHigh = (text: string) => /^\p{Lu}/u.test(text);
