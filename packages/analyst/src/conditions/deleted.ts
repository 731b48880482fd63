import type { Intent } from '../meaning/intent.ts';
import type { ColumnSql, Condition } from '../schema/expression.ts';
import { beginDate, deletionColumn } from '../schema/roles.ts';
import { type ColumnKind, reachable, type Schema, type Table } from '../schema/schema.ts';
import { toWords } from '../words/words.ts';

/** True for rows that are not marked as deleted; undefined where a table has no mark. */
export function remainingSql(table: Table): ((of: ColumnSql) => string) | undefined {
  const column = deletionColumn(table);
  return column && ((of) => isUnset[column.kind](of(table.name, column.name)));
}

const isNoYes = (mark: string) => `coalesce(lower(${mark}::text), '') not in ('y', 'yes', 't', 'true', '1', 'x')`;

const isUnset: Readonly<Record<ColumnKind, (mark: string) => string>> = {
  date: (mark) => `${mark} is null`,
  boolean: (mark) => `${mark} is not true`,
  number: (mark) => `coalesce(${mark}, 0) = 0`,
  text: isNoYes,
  other: isNoYes,
};

/** Rows that are marked as deleted are there no more, unless the question asks for the mark. */
export function withoutDeleted(intent: Intent, { subject }: { readonly subject?: Table }, schema: Schema): Intent {
  const { base } = intent;
  // The lines of a deleted order have no day and no mark of their own.
  const owner = beginDate(base) ? undefined : reachable(base, schema).find(beginDate);
  const tables = new Set([base, owner, subject].flatMap((table) => table ?? []));
  const marks = [...tables].flatMap((table): Condition[] => {
    const [column, remaining] = [deletionColumn(table), remainingSql(table)];
    if (!column || !remaining || asksFor(intent, table.name, column.name)) return [];
    const noun = table === base ? 'ones' : toWords(table.name);
    const mark = /removed/i.test(column.name) ? 'removed' : 'deleted';
    return [{ key: `${table.name}.${column.name}`, label: `without ${mark} ${noun}`, tables: [table.name], sql: remaining }];
  });
  return { ...intent, conditions: [...intent.conditions, ...marks] };
}

const asksFor = ({ conditions, rate, dimensions, day, quantity, orderBy }: Intent, table: string, column: string): boolean =>
  [...conditions, ...(rate ?? [])].some(({ key }) => key === `${table}.${column}`) ||
  dimensions.some((one) => one.kind === 'column' && one.table === table && one.column === column) ||
  (day?.table === table && day.column === column) ||
  [quantity?.value, orderBy?.column].some((one) => one?.sql((of, name) => `.${of}.${name} `).includes(`.${table}.${column} `));
