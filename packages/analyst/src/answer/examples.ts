import { mainNumber } from '../schema/columns.ts';
import { conceptMeasures, namesOf } from '../schema/measures.ts';
import { type Column, pathTo, type Schema, type Table } from '../schema/schema.ts';
import { stemOf, type Word, wordsOf } from '../words/words.ts';

const examples = 3;

/** Each is offered where the schema has its tables and measures. */
const known: readonly (readonly [question: string, tables: readonly string[]])[] = [
  ['What was our revenue by month this year?', ['orders']],
  ['Who are our top 5 customers by revenue?', ['orders', 'customers']],
  ['How much is overdue?', ['invoices']],
  ['What is the stock value by warehouse?', ['inventory', 'products']],
  ['How much did we spend with each supplier this year?', ['purchase_orders', 'suppliers']],
  ['What is the headcount by department?', ['employees']],
  ['Who is on leave this week?', ['leave_requests']],
];

/** Questions over these tables that are understood; those about tables that the words name come first. */
export function examplesOf(schema: Schema, words: readonly Word[] = []): string[] {
  const business = known.filter(([question, tables]) => isThere(schema, question, tables));
  const each = schema.map(questionsOf);
  const longest = Math.max(0, ...each.map(({ length }) => length));
  const turns = Array.from({ length: longest }, (_, turn) => each.flatMap((questions) => questions[turn] ?? [])).flat();
  const all = [...new Set([...business.map(([question]) => question), ...turns])];
  const mentioned = new Set(words.map(({ stem }) => stem).filter((stem) => schema.some(({ name }) => namesOf(name).flat().includes(stem))));
  const about = (question: string) => wordsOf(question).some(({ stem }) => mentioned.has(stem));
  return all.toSorted((a, b) => Number(about(b)) - Number(about(a))).slice(0, examples);
}

function isThere(schema: Schema, question: string, tables: readonly string[]): boolean {
  const [base, ...others] = tables.map((name) => schema.find((table) => table.name === name));
  const leads = others.every((table) => base && table && pathTo(schema, base, table.name));
  return base !== undefined && leads && conceptMeasures(wordsOf(question), schema).measures.length > 0;
}

function questionsOf(table: Table): string[] {
  const name = table.name.replaceAll(/[_.]/g, ' ');
  const category = table.columns.find(isCategory);
  const number = mainNumber(table);
  const by = category ? ` by ${category.name.replaceAll('_', ' ')}` : '';
  const column = number?.name.replaceAll('_', ' ');
  const about = (template: string) =>
    template
      .replace('{number}', column ?? '')
      .replace('{table}', name)
      .replace('{by}', by);
  if (!isPlural(name)) return column === undefined ? [`List ${name}`] : [about(templates.total)];
  return [
    about(templates.count),
    ...(column === undefined ? [] : [about(templates.average)]),
    ...(table.columns.some(({ kind }) => kind === 'date') ? [about(templates.lastMonth)] : []),
  ];
}

const templates = {
  count: 'How many {table} are there{by}?',
  total: 'What is the total {number} of {table}{by}?',
  average: 'What is the average {number} of {table}?',
  lastMonth: 'How many {table} were there last month?',
};

const isCategory = ({ name, kind }: Column) =>
  kind === 'text' && /status|type|kind|category|country|department|channel|segment|warehouse|method/.test(name);

/** `inventory` and `staff` are not counted. */
function isPlural(name: string): boolean {
  const last = name.split(' ').at(-1) ?? '';
  return stemOf(last) !== last || last === 'people';
}
