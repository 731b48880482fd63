import { columnOf, pathTo, type Schema, type Table, tableOf } from './schema.ts';

/** Gives a column as a statement writes it, with the alias of its table. */
export type ColumnSql = (table: string, column: string) => string;

/** An expression over the columns of a base table and of tables along its keys. */
export interface Expression {
  readonly tables: readonly string[];
  readonly sql: (column: ColumnSql) => string;
}

const reference = /\b([a-z_]\w*)\.([a-z_]\w*)\b/g;

/** An expression from a template such as `order_items.quantity * products.unit_cost`; undefined where a name is not in reach of the base. */
export function expressionOf(template: string, base: Table, schema: Schema): Expression | undefined {
  const names = [...template.matchAll(reference)].map(([, table, column]) => [table as string, column as string] as const);
  const isThere = names.every(([name, column]) => {
    const table = tableOf(schema, name);
    return table && columnOf(table, column) && pathTo(schema, base, name);
  });
  if (!isThere) return undefined;
  return {
    tables: [...new Set(names.map(([table]) => table))],
    sql: (column) => template.replaceAll(reference, (_, table: string, name: string) => column(table, name)),
  };
}

export const columnExpression = (table: string, column: string): Expression => ({
  tables: [table],
  sql: (of) => of(table, column),
});

/** A condition on rows. A later condition with the same key takes the place of an earlier one. */
export interface Condition extends Expression {
  readonly key: string;
  readonly label: string;
}
