import { stemOf, toWords } from '../words/words.ts';
import {
  costColumn,
  datesOf,
  dueDate,
  endDate,
  isMoney,
  isOfPiece,
  mainNumber,
  paidDate,
  paidPart,
  priceColumn,
  quantityColumn,
  statusColumn,
} from './roles.ts';
import type { Column, Schema, Table } from './schema.ts';

/** The operation on the numbers of rows. */
export type Operation = 'count' | 'sum' | 'avg' | 'median' | 'min' | 'max';

export type Unit = 'money' | 'days' | 'pieces' | 'percent';

/** The tables and columns that hold a figure, as templates of SQL over `table.column`. */
export interface FigureSource {
  readonly base: string;
  /** The number of each row; without one the rows are counted. */
  readonly value?: string;
  /** Divides the sum of `value`; the figure is a ratio in percent. */
  readonly per?: string;
  readonly operation?: Operation;
  readonly where?: readonly (readonly [template: string, label: string] | StatusTest)[];
}

/** Compares a column of text with words, in any capitals. */
export interface StatusTest {
  /** As `orders.status`. */
  readonly column: string;
  /** In lower case. */
  readonly words: readonly string[];
  /** Only rows without these words count; rows without a status are among them. */
  readonly isExcluded: boolean;
  /** The rows, as the answer calls them. */
  readonly noun: string;
  /** The assumption under which all rows count where the column has none of the words; without it there is no figure. */
  readonly otherwise?: string;
}

/** A term of business. */
export interface Concept {
  readonly label: string;
  readonly phrases: readonly string[];
  /** The unit of the figure. */
  readonly unit?: Unit;
  readonly sources: (schema: Schema) => readonly FigureSource[];
}

const [cancelled, voided] = [
  ['cancelled', 'canceled'],
  ['void', 'voided'],
];
const without = (column: string, words: readonly string[], noun: string): readonly StatusTest[] => [
  { column, words, isExcluded: true, noun },
];
const goodOrders = without('orders.status', cancelled, 'orders');
const goodPurchases = without('purchase_orders.status', cancelled, 'ones');
const approved: readonly StatusTest[] = [{ column: 'leave_requests.status', words: ['approved'], isExcluded: false, noun: 'requests' }];
const active: readonly StatusTest[] = [
  { column: 'employees.status', words: ['active'], isExcluded: false, noun: 'ones', otherwise: 'employees of every status' },
];
const fixed =
  (...sources: FigureSource[]) =>
  () =>
    sources;
const terms = (text: string): string[] => text.split('|').map((phrase) => phrase.split(' ').map(stemOf).join(' '));

/** The cost of the goods on an order's line. */
const lineCost = 'order_items.quantity * products.unit_cost';

/** The sources that every table with such columns gives. */
const everyTable = (source: (table: Table) => FigureSource | undefined) => (schema: Schema) =>
  schema
    .filter(({ name, columns }) => [name, ...columns.map((column) => column.name)].every((one) => /^[a-z_]\w*$/.test(one)))
    .flatMap((table) => source(table) ?? []);

const notVoid = (table: Table): readonly StatusTest[] => {
  const status = statusColumn(table);
  return status ? without(`${table.name}.${status.name}`, [...voided, ...cancelled, 'draft'], 'ones') : [];
};

/** An empty paid part means that nothing was paid yet, unless the day of payment or the status says that all was. */
function paidSoFar(table: Table, amount: Column, part: Column): string {
  const [paid, status] = [paidDate(table), statusColumn(table)];
  const marks = [
    ...(paid ? [`${table.name}.${paid.name} is not null`] : []),
    ...(status ? [`lower(${table.name}.${status.name}::text) in ('paid', 'settled')`] : []),
  ];
  const otherwise = marks.length > 0 ? `case when ${marks.join(' or ')} then ${table.name}.${amount.name} else 0 end` : '0';
  return `coalesce(${table.name}.${part.name}, ${otherwise})`;
}

function unpaid(table: Table): FigureSource | undefined {
  const [amount, part, paid] = [mainNumber(table), paidPart(table), paidDate(table)];
  // Payments have only the day of payment, and are never unpaid.
  if (!amount || !isMoney(amount) || (datesOf(table).length < 2 && !part)) return undefined;
  if (part) {
    const [total, soFar] = [`${table.name}.${amount.name}`, paidSoFar(table, amount, part)];
    return {
      base: table.name,
      value: `${total} - ${soFar}`,
      operation: 'sum',
      where: [[`${soFar} < ${total}`, 'not fully paid'], ...notVoid(table)],
    };
  }
  return (
    paid && {
      base: table.name,
      value: `${table.name}.${amount.name}`,
      operation: 'sum',
      where: [[`${table.name}.${paid.name} is null`, 'not paid'], ...notVoid(table)],
    }
  );
}

function overdue(table: Table): FigureSource | undefined {
  const [source, due] = [unpaid(table), dueDate(table)];
  return (
    source &&
    due && {
      ...source,
      where: [...(source.where ?? []), [`${table.name}.${due.name} < current_date`, `${toWords(due.name)} before today`]],
    }
  );
}

/** The prices and costs of pieces are in no proportion to what was sold. */
function profit(table: Table): FigureSource | undefined {
  const [price, cost] = [priceColumn(table), costColumn(table)];
  if (!price || !cost || isOfPiece(price) || isOfPiece(cost)) return undefined;
  return { base: table.name, value: `${table.name}.${price.name} - ${table.name}.${cost.name}`, operation: 'sum' };
}

function margin(table: Table): FigureSource | undefined {
  const [source, price] = [profit(table), priceColumn(table)];
  return source && price && { ...source, per: `${table.name}.${price.name}` };
}

function stockValue(table: Table): FigureSource | undefined {
  const [quantity, cost] = [quantityColumn(table), costColumn(table)];
  return quantity && cost && /stock|hand/.test(quantity.name)
    ? { base: table.name, value: `${table.name}.${quantity.name} * ${table.name}.${cost.name}`, operation: 'sum' }
    : undefined;
}

/** The phrases that name a figure; of sources the first one that is in reach is used. */
export const concepts: readonly Concept[] = [
  {
    label: 'order value',
    phrases: terms('order value|basket size|order size|size of an order'),
    unit: 'money',
    sources: fixed({ base: 'orders', value: 'orders.total', operation: 'avg', where: goodOrders }),
  },
  {
    label: 'gross margin in %',
    phrases: terms(
      'margin|gross margin|margin percentage|gross margin percentage|profit margin|margin in percent|margin percent|gross margin in percent|margin rate|profitable|most profitable|margin as a percentage',
    ),
    unit: 'percent',
    sources: (schema) => [
      {
        base: 'order_items',
        value: `order_items.line_total - ${lineCost}`,
        per: 'order_items.line_total',
        operation: 'sum',
        where: goodOrders,
      },
      ...everyTable(margin)(schema),
    ],
  },
  {
    label: 'gross profit',
    phrases: terms('profit|gross profit'),
    unit: 'money',
    sources: (schema) => [
      { base: 'order_items', value: `order_items.line_total - ${lineCost}`, operation: 'sum', where: goodOrders },
      ...everyTable(profit)(schema),
    ],
  },
  {
    label: 'units sold',
    phrases: terms(
      'unit sold|sold|sell|quantity sold|best selling|bestselling|best-selling|bestseller|most sold|item sold|sold most|sold the most|sell the most|sell most|sold the most unit|unit did we sell|item did we sell|quantity sold of|sold in unit|most sold in unit|best-selling by quantity|piece sold',
    ),
    unit: 'pieces',
    sources: fixed({ base: 'order_items', value: 'order_items.quantity', operation: 'sum', where: goodOrders }),
  },
  {
    label: 'revenue',
    phrases: terms(
      'revenue|sales|turnover|turn over|sell|sold|sold most|sold the most|sell the most|sell most|sale volume|spend with us|spend the most with us|buy',
    ),
    unit: 'money',
    sources: fixed(
      { base: 'orders', value: 'orders.total', operation: 'sum', where: goodOrders },
      { base: 'order_items', value: 'order_items.line_total', operation: 'sum', where: goodOrders },
      { base: 'order_items', value: 'order_items.line_total', operation: 'sum' },
      { base: 'orders', value: 'orders.total', operation: 'sum' },
      { base: 'sales', value: 'sales.amount', operation: 'sum' },
    ),
  },
  {
    label: 'outstanding amount',
    phrases: terms(
      'outstanding|unpaid|receivable|open receivable|outstanding receivable|owe|owed|owing|debt|outstanding amount|unpaid amount|owe us|owed to us|open amount owed|not paid|not paid yet|owed amount|without payment|amount owed|still owe|still unpaid|still owe us',
    ),
    unit: 'money',
    sources: everyTable(unpaid),
  },
  {
    label: 'overdue amount',
    phrases: terms('overdue|overdue amount|past due|past due amount|overdue total|amount overdue|past due date'),
    unit: 'money',
    sources: everyTable(overdue),
  },
  {
    label: 'invoiced amount',
    phrases: terms('invoiced|billed|we invoice|we bill|invoiced amount|billed amount|amount billed|invoicing|amount invoiced'),
    unit: 'money',
    sources: fixed(
      {
        base: 'invoices',
        value: 'invoices.amount',
        operation: 'sum',
        where: without('invoices.status', [...voided, ...cancelled], 'ones'),
      },
      { base: 'bills', value: 'bills.amount', operation: 'sum' },
      { base: 'bills', value: 'bills.amount_eur', operation: 'sum' },
    ),
  },
  {
    label: 'payments received',
    phrases: terms(
      'cash|collect|collected|collection|cash received|cash collected|payment received|money received|money came in|receive in payment|cash did we receive|money did we receive|received from customer|received in payment|customer pay us|money did customer pay us',
    ),
    unit: 'money',
    sources: fixed({ base: 'payments', value: 'payments.amount', operation: 'sum' }),
  },
  {
    label: 'stock value at cost',
    phrases: terms(
      'stock value|inventory value|value of stock|value of inventory|value of our stock|value of our inventory|stock worth|inventory worth|worth of stock|value of all good in stock|value of good in stock|good in stock at cost|medication stock worth|value of medication stock|value of the medication in stock|stock is worth|is our stock worth|is the stock worth|is our inventory worth|stock at cost',
    ),
    unit: 'money',
    sources: (schema) => [
      { base: 'inventory', value: 'inventory.quantity_on_hand * products.unit_cost', operation: 'sum' },
      ...everyTable(stockValue)(schema),
    ],
  },
  {
    label: 'stock at or below its reorder level',
    phrases: terms(
      'reorder|reordered|low stock|low on stock|low in stock|running low|run low|restock|be reordered|to reorder|need to be reordered|have to reorder|below the reorder level',
    ),
    sources: fixed({
      base: 'inventory',
      where: [['inventory.quantity_on_hand <= inventory.reorder_level', 'at or below the reorder level']],
    }),
  },
  {
    label: 'products out of stock',
    phrases: terms('out of stock|sold out|no stock|with no stock|not in stock'),
    sources: fixed({ base: 'inventory', where: [['inventory.quantity_on_hand = 0', 'none in stock']] }),
  },
  {
    label: 'units in stock',
    phrases: terms('stock|in stock|on hand|unit on hand|unit in stock|stock quantity|stock of|lowest stock'),
    unit: 'pieces',
    sources: fixed({ base: 'inventory', value: 'inventory.quantity_on_hand', operation: 'sum' }),
  },
  {
    label: 'purchasing spend',
    phrases: terms(
      'spend|spent|spending|purchasing volume|purchase volume|purchase cost|purchasing spend|spend on purchase|spent on purchase|buy from|purchase spend',
    ),
    unit: 'money',
    sources: fixed({
      base: 'purchase_orders',
      value: 'purchase_orders.total',
      operation: 'sum',
      where: goodPurchases,
    }),
  },
  {
    label: 'units purchased',
    phrases: terms(
      'unit bought|unit did we purchase|unit purchased|quantity purchased|good ordered from|unit bought from|quantity of good ordered from|unit did we buy|quantity bought|quantity ordered from',
    ),
    unit: 'pieces',
    sources: fixed({
      base: 'purchase_orders',
      value: 'purchase_orders.quantity',
      operation: 'sum',
      where: goodPurchases,
    }),
  },
  {
    label: 'headcount',
    phrases: terms(
      'headcount|people work|most employee|fewest employee|workforce|employee do we have|staff do we have|people do we have|people do we employ|employee are there|employee work|number of employee|employee are in|employee in|people are in|active employee|current headcount|people work here|employee do we employ',
    ),
    sources: fixed({ base: 'employees', operation: 'count', where: active }),
  },
  {
    label: 'salary',
    phrases: terms('salary|wage|earn|pay|best paid|highest paid|paid employee|make a year'),
    unit: 'money',
    sources: fixed({ base: 'employees', value: 'employees.salary', where: active }),
  },
  {
    label: 'new employees',
    phrases: terms('new hire|hire|new employee|new joiner|people hired'),
    sources: fixed({ base: 'employees' }),
  },
  {
    label: 'yearly salaries',
    phrases: terms(
      'payroll|salary cost|salary bill|wage bill|pay in salary|total payroll|sum of all salary|all salary|pay in salary per year',
    ),
    unit: 'money',
    sources: fixed({ base: 'employees', value: 'employees.salary', operation: 'sum', where: active }),
  },
  {
    label: 'people on leave',
    phrases: terms('on leave|on sick leave|on parental leave|on unpaid leave|absent|away|on vacation|on holiday|off sick|is off|are off'),
    sources: fixed({ base: 'leave_requests', where: approved }),
  },
  {
    label: 'days of leave',
    phrases: terms(
      'leave day|day of leave|day of sick leave|day of parental leave|day of unpaid leave|day of vacation|vacation day|sick day|day sick|parental day|unpaid day|day off|leave taken',
    ),
    unit: 'days',
    sources: fixed({ base: 'leave_requests', value: 'leave_requests.days', operation: 'sum', where: approved }),
  },
];

/** True for tables whose rows last from one day to another, such as leave. */
export const lasts = (table: Table): boolean => table.name === 'leave_requests' && endDate(table) !== undefined;
