/** The operation on the numbers of rows. */
export type Operation = 'count' | 'sum' | 'avg' | 'median' | 'min' | 'max';

/** The table and columns of a figure, by their usual names. */
export interface FigureSource {
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

/** A figure by its names. */
interface Concept {
  readonly phrases: readonly string[];
  readonly label: string;
  readonly sources: readonly FigureSource[];
}

const notCancelled = ['status', "<> 'cancelled'", 'without cancelled ones'] as const;
const notCancelledOrder = ['orders', 'status', "<> 'cancelled'", 'without cancelled orders'] as const;

/** Business terms for figures, and the tables and columns that usually hold them. The first match is used. */
export const concepts: readonly Concept[] = [
  {
    phrases: ['order value', 'basket size', 'order size'],
    label: 'order value',
    sources: [{ table: 'orders', columns: ['total', 'status'], amount: 'total', operation: 'avg', only: [notCancelled] }],
  },
  {
    phrases: ['profit', 'margin', 'gross profit'],
    label: 'gross profit',
    sources: [
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
      'best product',
      'top product',
      'how many products sold',
      'how many products do we sell',
      'how many products did we sell',
      'sold the most',
      'sold most',
      'sell the most',
      'sell most',
      'units did we sell',
      'items did we sell',
      'best selling',
      'bestselling',
      'best-selling',
      'bestseller',
      'most sold',
      'items sold',
    ],
    label: 'units sold',
    sources: [{ table: 'order_items', columns: ['quantity', 'order_id'], amount: 'quantity', operation: 'sum', onlyIn: notCancelledOrder }],
  },
  {
    phrases: [
      'revenue',
      'sales',
      'turnover',
      'sell',
      'sold',
      'bought most',
      'buy most',
      'best customer',
      'top customer',
      'biggest customer',
      'largest customer',
      'important customer',
    ],
    label: 'revenue',
    sources: [
      { table: 'orders', columns: ['total', 'status'], amount: 'total', operation: 'sum', only: [notCancelled] },
      { table: 'order_items', columns: ['line_total', 'order_id'], amount: 'line_total', operation: 'sum', onlyIn: notCancelledOrder },
      { table: 'orders', columns: ['total'], amount: 'total', operation: 'sum' },
      { table: 'sales', columns: ['amount'], amount: 'amount', operation: 'sum' },
    ],
  },
  {
    phrases: ['outstanding', 'unpaid', 'receivable', 'owe', 'owed', 'owing'],
    label: 'outstanding amount',
    sources: [
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
    sources: [
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
    phrases: ['invoiced', 'billed', 'we invoice', 'we bill'],
    label: 'invoiced amount',
    sources: [
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
    sources: [{ table: 'payments', columns: ['amount'], amount: 'amount', operation: 'sum' }],
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
    sources: [
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
    sources: [
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
    sources: [{ table: 'inventory', columns: ['quantity_on_hand'], only: [['quantity_on_hand', '= 0', 'none in stock']] }],
  },
  {
    phrases: ['stock', 'in stock', 'on hand', 'unit on hand'],
    label: 'units in stock',
    sources: [{ table: 'inventory', columns: ['quantity_on_hand'], amount: 'quantity_on_hand', operation: 'sum' }],
  },
  {
    phrases: ['spend', 'spent', 'spending', 'purchasing volume', 'purchase volume', 'purchase cost'],
    label: 'purchasing spend',
    sources: [{ table: 'purchase_orders', columns: ['total', 'status'], amount: 'total', operation: 'sum', only: [notCancelled] }],
  },
  {
    phrases: [
      'headcount',
      'people work',
      'most employees',
      'fewest employees',
      'employees are in',
      'employees in',
      'people are in',
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
    sources: [{ table: 'employees', columns: ['status'], operation: 'count', only: [['status', "= 'active'", 'active ones']] }],
  },
  {
    phrases: ['salary', 'salaries', 'wage', 'earn', 'earns', 'paid employee'],
    label: 'salary',
    sources: [{ table: 'employees', columns: ['salary', 'status'], amount: 'salary', only: [['status', "= 'active'", 'active ones']] }],
  },
  {
    phrases: ['new hire', 'hires', 'new employee', 'new joiner'],
    label: 'new employees',
    sources: [{ table: 'employees', columns: ['hired_on'] }],
  },
  {
    phrases: ['payroll', 'salary cost', 'salary bill', 'wage bill'],
    label: 'yearly salaries',
    sources: [
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
    phrases: ['on leave', 'absent', 'away', 'on vacation', 'on holiday', 'off sick'],
    label: 'people on leave',
    sources: [
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
    sources: [
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
