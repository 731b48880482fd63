import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('./', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8');
const files = readdirSync(folder)
  .filter((name) => /^\d\d-.*\.sql$/.test(name))
  .sort();

/** Analytic statements as analysts write them; what the gates allow was chosen after them. */
export const honestStatements: readonly string[] = files.flatMap((name) =>
  read(name)
    .split(/;\n/)
    .map((text) => text.trim())
    .filter(Boolean),
);

export const corpusHash: string = createHash('sha256').update(files.map(read).join('')).digest('hex');

/** Tables of a small company, and what they hold. */
export const honestSchema: string = read('schema.sql');
export const honestData: string = read('data.sql');

export const honestTables: readonly string[] = [
  'customers',
  'suppliers',
  'products',
  'orders',
  'order_items',
  'invoices',
  'payments',
  'inventory',
  'purchase_orders',
  'employees',
  'leave_requests',
  '"Sales Ops"."Quarterly Targets"',
  'active_customers',
  'monthly_sales',
];
