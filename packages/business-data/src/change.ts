import { Refusal } from './failure.ts';
import { isExact } from './results.ts';
import { type Catalog, type CatalogColumn, type CatalogEffect, quote, storedType, type TableName, tableKey } from './scope/catalog.ts';
import { findWritten, type ResolvedScope, type ScopedTable } from './scope/scope.ts';

interface ChangeRow {
  /** The whole primary key of the row; not for an insert. */
  readonly key?: Readonly<Record<string, unknown>> | undefined;
  /** The columns to set; not for a delete. */
  readonly values?: Readonly<Record<string, unknown>> | undefined;
}

export interface ChangeRequest {
  readonly table: string;
  readonly operation: 'insert' | 'update' | 'delete';
  readonly rows: readonly ChangeRow[];
}

interface ChangeStatement {
  readonly text: string;
  readonly values: readonly (string | null)[];
}

/** Rows of one change. */
export const maxChangedRows = 50;

export const inexactNumber =
  'A number here has more digits than a JSON number keeps, so nothing was changed: write it as a string, all digits in quotes. A JSON document with such numbers is written as one string.';

/** One statement for each row, built from names of the scope and parameters. No text of the request becomes SQL. */
export function buildChange(
  scope: ResolvedScope,
  catalog: Pick<Catalog, 'effects'>,
  request: ChangeRequest,
): { table: ScopedTable; statements: ChangeStatement[] } {
  if (scope.readOnly) throw new Refusal('Nothing can be changed here: the data is read-only.');
  const { rows } = request;
  if (rows.length === 0 || rows.length > maxChangedRows) throw new Refusal(`A change has 1 to ${maxChangedRows} rows.`);
  const table = changeableTable(scope, request.table);
  const build = builders[request.operation];
  const statements = rows.map((row) => build(table, row));
  refuseEffects(scope, catalog, { table, request });
  return { table, statements };
}

/** Foreign keys change other rows without checking rights: refuses the change unless those tables are in scope with all columns. */
function refuseEffects(
  scope: ResolvedScope,
  catalog: Pick<Catalog, 'effects'>,
  { table, request: { operation, rows } }: { table: ScopedTable; request: ChangeRequest },
): void {
  if (operation === 'insert') return;
  const columns = operation === 'update' ? [...new Set(rows.flatMap(({ values }) => Object.keys(values ?? {})))] : undefined;
  const inScope = new Set(scope.tables.filter(({ hasAllColumns }) => hasAllColumns).map(tableKey));
  const isInScope = ({ reaches }: CatalogEffect) => reaches.some((reached) => inScope.has(tableKey(reached)));
  if ([...effectsOf(catalog, { table, columns })].every(isInScope)) return;
  const subject = columns ? `${columns.map((name) => `"${name}"`).join(', ')} of ${table.written}` : `Rows of ${table.written}`;
  throw new Refusal(`${subject} cannot be ${columns ? 'changed' : 'deleted'}: foreign keys would change rows that are not in scope.`);
}

function changeableTable(scope: ResolvedScope, written: string): ScopedTable {
  const table = findWritten(scope, written);
  if (table === undefined) throw new Refusal(`There is no table "${written}" here.`);
  if (table.kind !== 'table') throw new Refusal(`${table.written} is a view and cannot be changed.`);
  return table;
}

type Build = (table: ScopedTable, row: ChangeRow) => ChangeStatement;

const builders: Readonly<Record<ChangeRequest['operation'], Build>> = {
  insert(table, { key, values }) {
    const set = pairsOf(table, { ...key, ...values }, 'an insert needs values');
    const names = set.map(({ column }) => quote(column.name));
    const parameters = set.map((_, index) => `$${index + 1}`);
    const text = `insert into ${nameOf(table)} (${names.join(', ')}) values (${parameters.join(', ')}) returning ${columnList(table)}`;
    return { text, values: set.map(({ value }) => value) };
  },
  update(table, { key, values }) {
    const set = pairsOf(table, values ?? {}, 'an update needs values');
    const condition = keyCondition(table, key, set.length);
    const assignments = set.map(({ column }, index) => `${quote(column.name)} = $${index + 1}`);
    const text = `update ${nameOf(table)} set ${assignments.join(', ')} where ${condition.text} returning ${columnList(table)}`;
    return { text, values: [...set.map(({ value }) => value), ...condition.values] };
  },
  delete(table, { key, values }) {
    if (values !== undefined && Object.keys(values).length > 0) throw new Refusal('A delete takes keys only.');
    // The values of the other columns would be lost.
    if (!table.hasAllColumns) throw new Refusal(`Rows of ${table.written} cannot be deleted: not all of its columns are in scope.`);
    const condition = keyCondition(table, key, 0);
    return { text: `delete from ${nameOf(table)} where ${condition.text} returning ${columnList(table)}`, values: condition.values };
  },
};

const nameOf = ({ schema, name }: ScopedTable): string => `${quote(schema)}.${quote(name)}`;
const columnList = ({ columns }: ScopedTable): string => columns.map(({ name }) => quote(name)).join(', ');

interface Pair {
  readonly column: CatalogColumn;
  readonly value: string | null;
}

function pairsOf(table: ScopedTable, record: Readonly<Record<string, unknown>>, missing: string): Pair[] {
  const pairs = Object.entries(record).map(([name, value]) => {
    const column = columnOf(table, name);
    return { column, value: toParameter(value, storedType(column)) };
  });
  if (pairs.length === 0) throw new Refusal(`The change of ${table.written} is incomplete: ${missing}.`);
  const computed = pairs.find(({ column }) => column.generated);
  if (computed) throw new Refusal(`The column "${computed.column.name}" is computed by the database.`);
  return pairs;
}

function columnOf(table: ScopedTable, name: string): CatalogColumn {
  const column = table.columns.find((candidate) => candidate.name === name);
  if (column === undefined) throw new Refusal(`There is no column "${name}" in ${table.written}.`);
  return column;
}

function keyCondition(table: ScopedTable, key: ChangeRow['key'], offset: number): ChangeStatement {
  if (table.primaryKey.length === 0) throw new Refusal(`Rows of ${table.written} cannot be told apart: its primary key is not available.`);
  const names = Object.keys(key ?? {});
  if (names.length !== table.primaryKey.length || !table.primaryKey.every((name) => names.includes(name)))
    throw new Refusal(`A row of ${table.written} is named by its whole key: ${table.primaryKey.join(', ')}.`);
  const values = table.primaryKey.map((name) => toParameter(key?.[name], storedType(columnOf(table, name))));
  if (values.includes(null)) throw new Refusal('A key cannot contain null.');
  return { text: table.primaryKey.map((name, index) => `${quote(name)} = $${offset + index + 1}`).join(' and '), values };
}

/** In PostgreSQL's text format; the column's type reads it. */
function toParameter(value: unknown, type: string): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return requireStorable(value);
  if (!isExact(value)) throw new Refusal(inexactNumber);
  if (Array.isArray(value) && type.endsWith('[]')) return requireStorable(arrayLiteral(value));
  if (typeof value === 'object') return requireStorable(JSON.stringify(value));
  return String(value);
}

/** `{"a",NULL,{"b"}}` */
function arrayLiteral(items: readonly unknown[]): string {
  const parts = items.map((item) => {
    if (item === null || item === undefined) return 'NULL';
    if (Array.isArray(item)) return arrayLiteral(item);
    const text = typeof item === 'object' ? JSON.stringify(item) : String(item);
    return `"${text.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${parts.join(',')}}`;
}

/** Refuses text that PostgreSQL cannot store: the driver would store other text in its place. */
function requireStorable(text: string): string {
  if (text.includes('\0')) throw new Refusal('A value cannot contain the character NUL.');
  if (!text.isWellFormed()) throw new Refusal('A value cannot contain half of a surrogate pair.');
  return text;
}

interface RowChange {
  readonly table: TableName;
  /** The updated columns; undefined: rows are deleted. */
  readonly columns: readonly string[] | undefined;
}

/** An effect, and how it changes the rows of its tables. */
interface Consequence {
  readonly effect: CatalogEffect;
  readonly kind: 'delete' | 'update';
}

const deletion = Symbol('deletion');
const update = Symbol('update');

/** A deletion of rows, an update of any columns, or that of the column with this name. */
type Cause = typeof deletion | typeof update | string;

/**
 * The changes that the database makes itself after a change, and those that follow from them. A data source may have any number of them, so
 * each is followed once, and rows of each table are deleted and each of its columns is updated once.
 */
function effectsOf({ effects }: Pick<Catalog, 'effects'>, change: RowChange): ReadonlySet<CatalogEffect> {
  const byTable = causedByTable(effects);
  const followed = new Set<Consequence>();
  const open = [change];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const consequence of takeConsequences(byTable.get(tableKey(next.table)), next)) {
      if (followed.has(consequence)) continue;
      followed.add(consequence);
      const { effect, kind } = consequence;
      const columns = kind === 'delete' ? undefined : effect.sets;
      for (const table of effect.reaches) open.push({ table, columns });
    }
  }
  return new Set([...followed].map(({ effect }) => effect));
}

/** A change of a table causes this. */
interface Caused {
  readonly cause: Cause;
  readonly consequence: Consequence;
}

function causedByTable(effects: readonly CatalogEffect[]): ReadonlyMap<string, Map<Cause, Caused[]>> {
  const byTable = Map.groupBy(effects, ({ schema, table: name }) => tableKey({ schema, name }));
  return new Map(Array.from(byTable, ([key, ofTable]) => [key, Map.groupBy(ofTable.flatMap(causedBy), ({ cause }) => cause)]));
}

function causedBy(effect: CatalogEffect): Caused[] {
  const { columns, onDelete, onUpdate } = effect;
  const caused = (causes: readonly Cause[], kind: Consequence['kind'] | null): Caused[] => {
    if (kind === null) return [];
    const consequence = { effect, kind };
    return causes.map((cause) => ({ cause, consequence }));
  };
  return [...caused([deletion], onDelete), ...caused(columns ?? [update], onUpdate)];
}

/** Those of a change that no change before it has taken. */
function takeConsequences(ofTable: Map<Cause, Caused[]> | undefined, { columns }: RowChange): readonly Consequence[] {
  if (ofTable === undefined || ofTable.size === 0) return [];
  const causes: readonly Cause[] = columns === undefined ? [deletion] : [update, ...columns];
  return causes.flatMap((cause) => {
    const caused = ofTable.get(cause) ?? [];
    ofTable.delete(cause);
    return caused.map(({ consequence }) => consequence);
  });
}
