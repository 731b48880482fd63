import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('./', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8');
const filesLike = (pattern: RegExp): string[] =>
  readdirSync(folder)
    .filter((name) => pattern.test(name))
    .sort();
const files = filesLike(/^\d\d-.*\.sql$/);
const statementsIn = (names: readonly string[]): string[] =>
  names.flatMap((name) =>
    read(name)
      .split(/;\n/)
      .map((text) => text.trim())
      .filter(Boolean),
  );

/** Analytic statements as analysts write them. The lists of the gates were chosen to allow them. */
export const honestStatements: readonly string[] = statementsIn(files);

/** Longer analyses, written after the binder: windows, rollups, LATERAL, recursion, date series, JSON, full-text search. */
export const analyses: readonly string[] = statementsIn(filesLike(/^analysis-.*\.sql$/));

export const corpusHash: string = createHash('sha256').update(files.map(read).join('')).digest('hex');

const oldestVersion = 13;
/** Syntax that servers before this major version of PostgreSQL do not understand. */
const newerSyntax: readonly (readonly [RegExp, number])[] = [
  [/\bjson_(value|query|exists|table)\(/, 17],
  [/\b(any_value|json_array|json_arrayagg|json_objectagg)\(|\bjson_object\('a':|\bis json\b|\b0x|\d_\d/, 16],
];

/** The oldest major version of PostgreSQL that runs a statement. */
export const neededVersion = (statement: string): number => newerSyntax.find(([syntax]) => syntax.test(statement))?.[1] ?? oldestVersion;

/** Tables of a small company, and their rows. */
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
