import { indexOfStems, stemOf, stemsOfName, type Word } from '../words/words.ts';
import type { Amount } from './measures.ts';
import { type Column, columnName, reachable, type Schema, type Table } from './schema.ts';

const amountNames = [
  'total',
  'amount',
  'line_total',
  'value',
  'price',
  'unit_price',
  'salary',
  'quantity',
  'quantity_on_hand',
  'days',
  'credit_limit',
  'rating',
];
const isKey = (name: string): boolean => stemsOfName(name).at(-1) === 'id';

/** The number column that the words name. */
export function mentionedNumber(words: readonly Word[], table: Table): Column | undefined {
  const numbers = table.columns.filter(({ name, kind }) => kind === 'number' && !isKey(name));
  const whole = numbers.find(({ name }) => indexOfStems(words, stemsOfName(name)) >= 0);
  // `price` is enough for unit_price, and `limit` for credit_limit.
  return whole ?? numbers.find(({ name }) => indexOfStems(words, stemsOfName(name).slice(-1)) >= 0 || hasSynonym(words, name));
}

/** Other words for columns. */
export const columnSynonyms = new Map<string, readonly string[]>(
  Object.entries({
    lead_time_days: ['lead time'],
    salary: ['salary', 'pay', 'wage', 'earn'],
    unit_price: ['price', 'expensive', 'cheap', 'cheapest', 'priciest'],
    unit_cost: ['cost'],
    quantity_on_hand: ['stock', 'units', 'quantity'],
    discount_percent: ['discount'],
    rating: ['rated', 'best rated'],
  }),
);

const hasSynonym = (words: readonly Word[], name: string) =>
  (columnSynonyms.get(name) ?? []).some((phrase) => indexOfStems(words, phrase.split(' ').map(stemOf)) >= 0);

/** The number that a table is mostly about. */
export function mainNumber(table: Table): Column | undefined {
  const known = amountNames.flatMap((name) => table.columns.find((column) => column.name === name && column.kind === 'number') ?? []);
  return known[0] ?? table.columns.find(({ name, kind }) => kind === 'number' && !isKey(name));
}

export const amountOfColumn = (table: Table, column: Column): Amount => ({
  label: column.name.replaceAll('_', ' '),
  column: column.name,
  named: false,
  needs: [],
  sql: (columns) => `${columns(table.name)}.${columnName(column.name)}`,
});

const dateNames = [
  'order_date',
  'issued_on',
  'ordered_on',
  'paid_on',
  'start_date',
  'hired_on',
  'created_on',
  'created_at',
  'date',
  'last_counted_on',
];

export interface DateColumn {
  readonly table: string;
  readonly column: string;
}

/**
 * The day to which a span of time applies: one that the words name, else the day on which such a row begins. Rows without a day have
 * that of the nearest table to which they refer, such as the lines of an order.
 */
export function dateColumn(words: readonly Word[], base: Table, schema: Schema): DateColumn | undefined {
  for (const table of reachable(base, schema)) {
    const column = ownDate(words, table);
    if (column) return { table: table.name, column: column.name };
  }
  return undefined;
}

function ownDate(words: readonly Word[], table: Table): Column | undefined {
  const dates = table.columns.filter(({ kind }) => kind === 'date');
  const spoken = dates.find(({ name }) => words.some(({ lower }) => verbs(name).includes(lower)));
  return spoken ?? dateNames.flatMap((name) => dates.find((column) => column.name === name) ?? [])[0] ?? dates[0];
}

const forms = new Map<string, readonly string[]>(
  Object.entries({
    due: ['due'],
    start: ['start', 'starts', 'starting', 'begin', 'begins', 'beginning'],
    end: ['end', 'ends', 'ending'],
    hired: ['hired', 'joined', 'hires', 'hire', 'joiners'],
    left: ['left'],
    shipped: ['shipped'],
    expected: ['expected', 'arrive', 'arriving', 'arrives'],
    received: ['received', 'arrived'],
    requested: ['requested'],
    created: ['created', 'new'],
    paid: ['paid'],
    issued: ['issued'],
    ordered: ['ordered'],
  }),
);

/** The words that name a day, such as `shipped` for `shipped_on`. */
export const verbs = (name: string): readonly string[] => forms.get(name.split('_')[0] ?? '') ?? [];
