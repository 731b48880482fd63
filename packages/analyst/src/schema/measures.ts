import { has, indexOfStems, stemOf, stemsOfName, type Word } from '../words/words.ts';
import { concepts, type Operation, type Place } from './concepts.ts';
import { columnOf, type Schema, type Table, tableOf } from './schema.ts';

/** A number of each row: a column, or something that is worked out of columns, some of them along a key. */
export interface Amount {
  readonly label: string;
  /** The column that it is, where it is one. */
  readonly column?: string;
  /** The label is a name of business, which says by itself what is meant. */
  readonly named: boolean;
  /** Given how a table's columns are named in the statement. */
  readonly sql: (columns: (table: string) => string) => string;
  /** Tables besides the base that it needs. */
  readonly needs: readonly string[];
}

/** Rows that do not belong to what is measured. */
export interface Condition {
  readonly table: string;
  readonly column: string;
  readonly sql: (alias: string) => string;
  readonly label: string;
  /** The words of the question name its column. */
  readonly asked?: boolean;
  /** It comes of a word such as `not`. */
  readonly turns?: boolean;
}

/** Something that can be asked for by a name of business: where it stands, and what counts. */
export interface Measure {
  readonly base: Table;
  readonly amount: Amount | undefined;
  readonly operation: Operation | undefined;
  readonly conditions: readonly Condition[];
}

/** `our top customers` leaves open by what; where something else is said, that is meant. */
export const isSuperlative = (phrase: string): boolean => /^(best|top|biggest|largest|important) /.test(phrase);

/** Every way in which the words name a known measure, the most telling phrase first. */
export function conceptMeasures(words: readonly Word[], schema: Schema): { measures: Measure[]; stems: string[] } {
  const said = words.filter(({ lower }) => !/^\d+$/.test(lower));
  const named = concepts
    .flatMap((concept) => concept.phrases.filter((phrase) => has(said, phrase)).map((phrase) => ({ concept, phrase })))
    .filter(({ phrase }) => !isSuperlative(phrase) || !has(said, 'by'))
    .toSorted((a, b) => Number(isSuperlative(a.phrase)) - Number(isSuperlative(b.phrase)) || b.phrase.length - a.phrase.length);
  for (const { concept, phrase } of named) {
    const measures = concept.places.flatMap((place) => measureAt(place, concept.label, schema));
    if (measures.length > 0) return { measures, stems: phrase.split(' ').map(stemOf) };
  }
  return { measures: [], stems: [] };
}

function measureAt(place: Place, label: string, schema: Schema): Measure[] {
  const base = tableOf(schema, place.table);
  if (!base || !place.columns.every((column) => columnOf(base, column))) return [];
  const amount = amountOf(place, label);
  const others = [...(amount?.needs ?? []), ...(place.onlyIn ? [place.onlyIn[0]] : [])].filter((name) => name !== base.name);
  if (!others.every((name) => tableOf(schema, name))) return [];
  if (place.onlyIn && !columnOf(tableOf(schema, place.onlyIn[0]) as Table, place.onlyIn[1])) return [];
  return [{ base, amount, operation: place.operation, conditions: conditionsOf(place) }];
}

function amountOf({ table, amount, expression }: Place, label: string): Amount | undefined {
  if (amount !== undefined) return { label, column: amount, named: true, needs: [], sql: (columns) => `${columns(table)}.${amount}` };
  if (expression === undefined) return undefined;
  const tables = [...new Set([...expression.matchAll(/(\w+)\.\w+/g)].map((match) => match[1] as string))];
  return {
    label,
    named: true,
    needs: tables.filter((name) => name !== table),
    sql: (columns) => `(${expression.replaceAll(/(\w+)\.(\w+)/g, (_, name: string, column: string) => `${columns(name)}.${column}`)})`,
  };
}

function conditionsOf({ table, only = [], onlyIn }: Place): Condition[] {
  const own = only.map(([column, test, label]) => ({
    table,
    column,
    label,
    sql: (alias: string) => `${alias}.${column} ${test.replaceAll(/\{(\w+)\}/g, `${alias}.$1`)}`,
  }));
  if (!onlyIn) return own;
  const [other, column, test, label] = onlyIn;
  return [...own, { table: other, column, label, sql: (alias) => `${alias}.${column} ${test}` }];
}

/** Other words for what tables hold. */
const synonyms = new Map<string, readonly string[]>(
  Object.entries({
    customers: ['client', 'buyer', 'account'],
    suppliers: ['vendor'],
    employees: ['colleague', 'staff', 'worker', 'salesperson', 'sales rep', 'account manager', 'team member', 'people'],
    leave_requests: ['leave', 'time off', 'absence', 'vacation', 'holiday request', 'leave application'],
    invoices: ['bill'],
    products: ['article', 'item'],
    inventory: ['warehouse stock', 'stock level'],
    purchase_orders: ['purchase', 'po'],
  }),
);

export interface Mention {
  readonly table: Table;
  readonly at: number;
  readonly length: number;
}

/** The tables that the words name, in their order; `purchase orders` is not `orders`. */
export function mentionedTables(words: readonly Word[], schema: Schema): Mention[] {
  const all = schema.flatMap((table) =>
    namesOf(table.name).flatMap((stems) => {
      const at = indexOfStems(words, stems);
      return at < 0 ? [] : [{ table, at, length: stems.length }];
    }),
  );
  const longestFirst = all.toSorted((a, b) => b.length - a.length || a.at - b.at);
  const kept: Mention[] = [];
  for (const mention of longestFirst)
    if (!kept.some((other) => other.table === mention.table || overlap(other, mention))) kept.push(mention);
  return kept.toSorted((a, b) => a.at - b.at);
}

/** The names of a table, each as its stemmed words. */
export const namesOf = (name: string): string[][] => [
  stemsOfName(name),
  ...(synonyms.get(name.toLowerCase()) ?? []).map((phrase) => phrase.split(' ').map(stemOf)),
];

const overlap = (a: Mention, b: Mention) => a.at < b.at + b.length && b.at < a.at + a.length;
