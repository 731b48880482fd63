import type { Tile, Vocabulary } from '../meaning/tiles.ts';
import { isMoney, mainNumber } from '../schema/roles.ts';
import type { Column, Table } from '../schema/schema.ts';
import { stemOf, toWords, wordsOf } from '../words/words.ts';

const examples = 3;
const maxTried = 40;

/** Questions of business, which are offered where they are understood. */
const known = [
  'What was our revenue by month this year?',
  'Who are our top 5 customers by revenue?',
  'How much is overdue?',
  'What is the gross margin by product category?',
  'What is the stock value by warehouse?',
  'How much did we spend with each supplier this year?',
  'What is the headcount by department?',
  'Who is on leave this week?',
];

/** The nearest questions that are understood: those that share the most words with this one come first. */
export function examplesOf({ schema }: Vocabulary, tiles: readonly Tile[], isUnderstood: (question: string) => boolean): string[] {
  const each = schema.map(questionsOf);
  const longest = Math.max(0, ...each.map(({ length }) => length));
  const turns = Array.from({ length: longest }, (_, turn) => each.flatMap((questions) => questions[turn] ?? [])).flat();
  const named = new Set(
    tiles.flatMap(({ tables, words, isFiller }) =>
      isFiller ? [] : [...tables.flatMap(({ name }) => name.split('_').map(stemOf)), ...words.map(({ stem }) => stem)],
    ),
  );
  const sharedOf = (question: string) => new Set(wordsOf(question).flatMap(({ stem }) => (named.has(stem) ? [stem] : []))).size;
  const sorted = [...new Set([...known, ...turns])]
    .map((question) => ({ question, shared: sharedOf(question) }))
    .toSorted((a, b) => b.shared - a.shared)
    .map(({ question }) => question);
  const understood: string[] = [];
  for (const question of sorted.slice(0, maxTried)) if (understood.length < examples && isUnderstood(question)) understood.push(question);
  return understood;
}

function questionsOf(table: Table): string[] {
  const name = toWords(table.name);
  const category = table.columns.find(isCategory);
  const number = mainNumber(table);
  const by = category ? ` by ${toWords(category.name)}` : '';
  const column = number && toWords(number.name);
  // By a function, since a text has patterns such as `$&`, which a name may contain.
  const asking = (operation: string, groups: string) =>
    'What is the {figure}?'.replace('{figure}', () => `${operation} ${column} of ${name}${groups}`);
  return [
    `How many ${name} are there${by}?`,
    ...(column === undefined ? [] : [asking('average', '')]),
    ...(number && isMoney(number) ? [asking('total', by)] : []),
    `How many ${name} were there last month?`,
    `List ${name}`,
  ];
}

const isCategory = ({ name, kind }: Column) =>
  kind === 'text' && /status|type|kind|category|country|department|channel|segment|warehouse|method|ward|specialty/.test(name);
