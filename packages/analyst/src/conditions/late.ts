import { candidatesOfConcept } from '../meaning/candidates.ts';
import type { Day } from '../meaning/intent.ts';
import type { Pass } from '../meaning/pass.ts';
import { concepts } from '../schema/concepts.ts';
import type { ColumnSql, Condition } from '../schema/expression.ts';
import { dueDate, endDate } from '../schema/roles.ts';
import { type Schema, tableOf } from '../schema/schema.ts';
import { toWords } from '../words/words.ts';
import { negationOf, notCalledOff, type Placed } from './conditions.ts';

/** The day on which something is due in these rows, and the day on which it was done. */
export function lateDays(pass: Pass): { due: Day; end: Day | undefined } | undefined {
  const due = pass.tables.flatMap((table) => (dueDate(table) ? [{ table: table.name, column: dueDate(table)?.name as string }] : []))[0];
  // Invoices have no day of their own on which they end: their payments do.
  const table = (due && tableOf(pass.schema, due.table)) ?? pass.base;
  const owner = endDate(table) ? table : pass.base;
  const paid = owner.columns.find(({ name, kind }) => kind === 'date' && /paid|received|delivered|completed/.test(name)) ?? endDate(owner);
  return due && { due, end: paid && { table: owner.name, column: paid.name } };
}

/** Rows that ended after their day, or have not ended although it is past; `on time` is the opposite. */
export function lateConditions(pass: Pass): Placed[] {
  const [at] = pass.find('late', 'onTime');
  if (at === undefined) return [];
  const days = lateDays(pass);
  const onTime = pass.has(at, 'onTime');
  const verb = pass.tiles.findIndex((_, index) => !pass.isUsed(index) && pass.dayAt(index)?.column.name === days?.end?.column);
  if (!days?.end)
    return pass.tiles.some(({ days: verbs }) => verbs.some(({ table, column }) => endDate(table) === column || /paid/.test(column.name)))
      ? []
      : overdueConditions(pass, at);
  const { due, end } = days;
  const isDone = verb >= 0 || onTime || due.table !== end.table;
  if (!isDone && pass.tiles[at]?.values.some(({ table }) => table === pass.base.name)) return [];
  pass.use(at, ...(verb < 0 ? [] : [verb]));
  const noun = pass.tiles.flatMap((_, index) => (pass.dayAt(index)?.column.name === end.column ? [index] : []));
  pass.use(...noun);
  const [dueName, endName] = [toWords(due.column), toWords(end.column)];
  const tables = [due.table, end.table];
  const compare = comparisonOf(pass.schema, end, due);
  if (isDone) {
    const [word, operator] = onTime ? ['not after', '<='] : ['after', '>'];
    return [{ at, condition: { key: 'late', label: `${endName} ${word} ${dueName}`, tables, sql: (of) => compare(of, operator) } }];
  }
  const waiting: Condition = {
    key: 'late',
    label: `${dueName} past and without ${endName}`,
    tables,
    sql: (of) => `${of(end.table, end.column)} is null and ${of(due.table, due.column)} < current_date`,
  };
  return [waiting, ...notCalledOff(pass, pass.base)].map((condition) => ({ at, condition }));
}

/** Rows that end in the course of the day on which they are due are not late: times are compared where both columns have one, else days. */
function comparisonOf(schema: Schema, end: Day, due: Day): (of: ColumnSql, operator: string) => string {
  const hasTime = ({ table, column }: Day) => tableOf(schema, table)?.columns.find(({ name }) => name === column)?.hasTime;
  const unit = hasTime(end) && hasTime(due) ? '' : '::date';
  return (of, operator) => `${of(end.table, end.column)}${unit} ${operator} ${of(due.table, due.column)}${unit}`;
}

/** Tables without a day of payment have unpaid rows: those past their due date are overdue. */
function overdueConditions(pass: Pass, at: number): Placed[] {
  const overdue = concepts.find(({ label }) => label === 'overdue amount');
  const candidate = overdue && candidatesOfConcept(overdue, at, pass).find(({ base }) => base === pass.base);
  const isNegated = negationOf(pass, at) !== undefined;
  if (!candidate || isNegated || pass.has(at, 'onTime')) return [];
  pass.use(at);
  return candidate.conditions.map((condition) => ({ at, condition }));
}
