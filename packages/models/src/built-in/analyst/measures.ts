import { columnOf, type Schema, type Table, tableOf } from './schema.ts';
import { has, indexOfStems, stemOf, stemsOfName, type Word } from './words.ts';

export type Operation = 'count' | 'sum' | 'avg' | 'min' | 'max';

/** A number of each row: a column, or something that is worked out of columns, some of them along a key. */
export interface Amount {
  readonly label: string;
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

interface Place {
  readonly table: string;
  /** All of them must be there. */
  readonly columns: readonly string[];
  readonly amount?: string;
  /** With columns of other tables, as `products.unit_cost`. */
  readonly expression?: string;
  readonly operation?: Operation;
  readonly only?: readonly (readonly [column: string, sql: string, label: string])[];
  readonly onlyIn?: readonly [table: string, column: string, sql: string, label: string];
}

interface Concept {
  readonly phrases: readonly string[];
  readonly label: string;
  readonly places: readonly Place[];
}

const notCancelled = ['status', "<> 'cancelled'", 'without cancelled ones'] as const;
const notCancelledOrder = ['orders', 'status', "<> 'cancelled'", 'without cancelled orders'] as const;

/** What people call the figures of a company, and where such figures are usually found. The first place that fits is taken. */
const concepts: readonly Concept[] = [
  {
    phrases: ['order value', 'basket size', 'order size'],
    label: 'order value',
    places: [{ table: 'orders', columns: ['total', 'status'], amount: 'total', operation: 'avg', only: [notCancelled] }],
  },
  {
    phrases: ['profit', 'margin', 'gross profit'],
    label: 'gross profit',
    places: [
      {
        table: 'order_items',
        columns: ['line_total', 'quantity', 'product_id', 'order_id'],
        expression: 'order_items.line_total - order_items.quantity * products.unit_cost',
        operation: 'sum',
        onlyIn: notCancelledOrder,
      },
    ],
  },
  {
    phrases: [
      'unit sold',
      'units sold',
      'quantity sold',
      'best selling',
      'bestselling',
      'best-selling',
      'bestseller',
      'most sold',
      'items sold',
    ],
    label: 'units sold',
    places: [{ table: 'order_items', columns: ['quantity', 'order_id'], amount: 'quantity', operation: 'sum', onlyIn: notCancelledOrder }],
  },
  {
    phrases: ['revenue', 'sales', 'turnover', 'sell', 'sold', 'bought most', 'buy most'],
    label: 'revenue',
    places: [
      { table: 'orders', columns: ['total', 'status'], amount: 'total', operation: 'sum', only: [notCancelled] },
      { table: 'order_items', columns: ['line_total', 'order_id'], amount: 'line_total', operation: 'sum', onlyIn: notCancelledOrder },
      { table: 'orders', columns: ['total'], amount: 'total', operation: 'sum' },
      { table: 'sales', columns: ['amount'], amount: 'amount', operation: 'sum' },
    ],
  },
  {
    phrases: ['outstanding', 'unpaid', 'receivable', 'owe', 'owed', 'owing'],
    label: 'outstanding amount',
    places: [
      {
        table: 'invoices',
        columns: ['amount', 'amount_paid', 'status'],
        expression: 'invoices.amount - invoices.amount_paid',
        operation: 'sum',
        only: [['status', "in ('open', 'overdue')", 'open and overdue ones']],
      },
    ],
  },
  {
    phrases: ['overdue'],
    label: 'overdue amount',
    places: [
      {
        table: 'invoices',
        columns: ['amount', 'amount_paid', 'status'],
        expression: 'invoices.amount - invoices.amount_paid',
        operation: 'sum',
        only: [['status', "= 'overdue'", 'overdue ones']],
      },
    ],
  },
  {
    phrases: ['invoiced', 'billed'],
    label: 'invoiced amount',
    places: [
      {
        table: 'invoices',
        columns: ['amount', 'status'],
        amount: 'amount',
        operation: 'sum',
        only: [['status', "<> 'void'", 'without void ones']],
      },
    ],
  },
  {
    phrases: [
      'cash',
      'cash did we receive',
      'receive in payments',
      'collect',
      'money received',
      'money did we receive',
      'cash received',
      'received in payments',
      'payments received',
      'payment received',
      'collected',
      'cash collected',
      'received from customers',
    ],
    label: 'payments received',
    places: [{ table: 'payments', columns: ['amount'], amount: 'amount', operation: 'sum' }],
  },
  {
    phrases: [
      'stock value',
      'inventory value',
      'value of stock',
      'value of inventory',
      'value of our stock',
      'value of our inventory',
      'stock worth',
      'inventory worth',
    ],
    label: 'stock value at cost',
    places: [
      {
        table: 'inventory',
        columns: ['quantity_on_hand', 'product_id'],
        expression: 'inventory.quantity_on_hand * products.unit_cost',
        operation: 'sum',
      },
    ],
  },
  {
    phrases: [
      'reorder',
      'reordered',
      'low stock',
      'low on stock',
      'low in stock',
      'running low',
      'run low',
      'restock',
      'below the reorder level',
      'under the reorder level',
    ],
    label: 'stock at or below its reorder level',
    places: [
      {
        table: 'inventory',
        columns: ['quantity_on_hand', 'reorder_level'],
        only: [['quantity_on_hand', '<= {reorder_level}', 'at or below the reorder level']],
      },
    ],
  },
  {
    phrases: ['out of stock', 'sold out', 'no stock'],
    label: 'products out of stock',
    places: [{ table: 'inventory', columns: ['quantity_on_hand'], only: [['quantity_on_hand', '= 0', 'nothing on hand']] }],
  },
  {
    phrases: ['stock', 'in stock', 'on hand', 'unit on hand'],
    label: 'units in stock',
    places: [{ table: 'inventory', columns: ['quantity_on_hand'], amount: 'quantity_on_hand', operation: 'sum' }],
  },
  {
    phrases: ['spend', 'spent', 'spending', 'purchasing volume', 'purchase volume', 'purchase cost'],
    label: 'purchasing spend',
    places: [{ table: 'purchase_orders', columns: ['total', 'status'], amount: 'total', operation: 'sum', only: [notCancelled] }],
  },
  {
    phrases: [
      'headcount',
      'people work',
      'people do we employ',
      'workforce',
      'employees do we have',
      'staff do we have',
      'people do we have',
      'employees are there',
      'employees work',
      'number of employees',
    ],
    label: 'headcount',
    places: [{ table: 'employees', columns: ['status'], operation: 'count', only: [['status', "= 'active'", 'active ones']] }],
  },
  {
    phrases: ['salary', 'salaries', 'wage', 'earn', 'earns', 'paid employee'],
    label: 'salary',
    places: [{ table: 'employees', columns: ['salary', 'status'], amount: 'salary', only: [['status', "= 'active'", 'active ones']] }],
  },
  {
    phrases: ['payroll', 'salary cost', 'salary bill', 'wage bill'],
    label: 'yearly salaries',
    places: [
      {
        table: 'employees',
        columns: ['salary', 'status'],
        amount: 'salary',
        operation: 'sum',
        only: [['status', "= 'active'", 'active ones']],
      },
    ],
  },
  {
    phrases: ['on leave', 'absent', 'away'],
    label: 'people on leave',
    places: [
      {
        table: 'leave_requests',
        columns: ['status', 'start_date', 'end_date'],
        only: [['status', "= 'approved'", 'approved requests']],
      },
    ],
  },
  {
    phrases: ['leave days', 'leave day', 'days of leave', 'day of leave', 'vacation days', 'vacation day', 'sick days', 'sick day'],
    label: 'days of leave',
    places: [
      {
        table: 'leave_requests',
        columns: ['days', 'status'],
        amount: 'days',
        operation: 'sum',
        only: [['status', "= 'approved'", 'approved requests']],
      },
    ],
  },
];

/** Every way in which the words name a known measure, the most telling phrase first. */
export function conceptMeasures(words: readonly Word[], schema: Schema): { measures: Measure[]; stems: string[] } {
  const named = concepts
    .flatMap((concept) => concept.phrases.filter((phrase) => has(words, phrase)).map((phrase) => ({ concept, phrase })))
    .toSorted((a, b) => b.phrase.length - a.phrase.length);
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
  if (amount !== undefined) return { label, named: true, needs: [], sql: (columns) => `${columns(table)}.${amount}` };
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
