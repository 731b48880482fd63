import { has, indexOfStems, stemOf, stemsOfName, type Word } from '../words/words.ts';
import { concepts, type FigureSource, type Operation } from './concepts.ts';
import { columnOf, type Schema, type Table, tableOf } from './schema.ts';

/** A number of each row: a column, or an expression of columns, also of tables along keys. */
export interface Amount {
  readonly label: string;
  /** The column's name, where the amount is a single column. */
  readonly column?: string;
  /** The label is a business term, which is clear without the name of the table. */
  readonly named: boolean;
  /** Returns the SQL; `columns` gives the alias of a table. */
  readonly sql: (columns: (table: string) => string) => string;
  /** Tables besides the base that it needs. */
  readonly needs: readonly string[];
}

/** A condition on the rows that are measured. */
export interface Condition {
  readonly table: string;
  readonly column: string;
  readonly sql: (alias: string) => string;
  readonly label: string;
  /** The words of the question name its column. */
  readonly isNamed?: boolean;
  /** It comes from a word such as `not`. */
  readonly negates?: boolean;
}

/** A figure that a business term names: its table, amount and conditions. */
export interface Measure {
  readonly base: Table;
  readonly amount: Amount | undefined;
  readonly operation: Operation | undefined;
  readonly conditions: readonly Condition[];
}

/** True for a phrase such as `top customers`, which does not name a measure; another measure in the question is preferred. */
export const isSuperlative = (phrase: string): boolean => /^(best|top|biggest|largest|important) /.test(phrase);

/** The known measures that the words name, by the longest phrase. */
export function conceptMeasures(words: readonly Word[], schema: Schema): { measures: Measure[]; stems: string[] } {
  const texts = words.filter(({ lower }) => !/^\d+$/.test(lower));
  const named = concepts
    .flatMap((concept) => concept.phrases.filter((phrase) => has(texts, phrase)).map((phrase) => ({ concept, phrase })))
    .filter(({ phrase }) => !isSuperlative(phrase) || !has(texts, 'by'))
    .toSorted((a, b) => Number(isSuperlative(a.phrase)) - Number(isSuperlative(b.phrase)) || b.phrase.length - a.phrase.length);
  for (const { concept, phrase } of named) {
    const measures = concept.sources.flatMap((source) => measureAt(source, concept.label, schema));
    if (measures.length > 0) return { measures, stems: phrase.split(' ').map(stemOf) };
  }
  return { measures: [], stems: [] };
}

function measureAt(source: FigureSource, label: string, schema: Schema): Measure[] {
  const base = tableOf(schema, source.table);
  if (!base || !source.columns.every((column) => columnOf(base, column))) return [];
  const amount = amountOf(source, label);
  const others = [...(amount?.needs ?? []), ...(source.onlyIn ? [source.onlyIn[0]] : [])].filter((name) => name !== base.name);
  if (!others.every((name) => tableOf(schema, name))) return [];
  if (source.onlyIn && !columnOf(tableOf(schema, source.onlyIn[0]) as Table, source.onlyIn[1])) return [];
  return [{ base, amount, operation: source.operation, conditions: conditionsOf(source) }];
}

function amountOf({ table, amount, expression }: FigureSource, label: string): Amount | undefined {
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

function conditionsOf({ table, only = [], onlyIn }: FigureSource): Condition[] {
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

/** Synonyms for names of tables. */
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
  const mentions: Mention[] = [];
  for (const mention of longestFirst)
    if (!mentions.some((other) => other.table === mention.table || overlap(other, mention))) mentions.push(mention);
  return mentions.toSorted((a, b) => a.at - b.at);
}

/** The names of a table, each as its stemmed words. */
export const namesOf = (name: string): string[][] => [
  stemsOfName(name),
  ...(synonyms.get(name.toLowerCase()) ?? []).map((phrase) => phrase.split(' ').map(stemOf)),
];

const overlap = (a: Mention, b: Mention) => a.at < b.at + b.length && b.at < a.at + a.length;
