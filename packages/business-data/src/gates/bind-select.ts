import { Refusal } from '../failure.ts';
import {
  type Binder,
  type Column,
  type Columns,
  type Context,
  type Cte,
  type CteScope,
  findColumn,
  findIn,
  findRelation,
  renameColumns,
  requireColumnCount,
  rowSize,
  visibleColumns,
} from './namespace.ts';
import { outputName } from './output-name.ts';
import { fieldsOf, isTree, listOf, namesOf, type Tree, textOf } from './tree.ts';
import { requireBoundedStep, sizeAfterSteps, startingSize } from './value-size.ts';

type OnLeft = ((columns: Columns) => void) | undefined;

/** Binds a query and returns its output columns. */
export function bindSelect(select: Tree, outer: Context, binder: Binder, onLeft?: OnLeft): Columns {
  const context = bindWith(select['withClause'], { ...outer, windows: new Set(), level: outer.level + 1 }, binder);
  if (select['larg'] !== undefined || select['rarg'] !== undefined) return bindSetOperation(select, context, binder, onLeft);
  if (select['valuesLists'] !== undefined) return bindValues(select, context, binder);
  return bindPlain(select, context, binder);
}

function bindPlain(select: Tree, outer: Context, binder: Binder): Columns {
  const { relations, star } = binder.from(listOf(select['fromClause']), outer);
  const context = { ...outer, namespace: { relations, parent: outer.namespace }, windows: windowNames(select) };
  const columns = bindTargets(listOf(select['targetList']), { context, star, binder });
  binder.rows.add(rowSize(columns));
  for (const field of ['whereClause', 'havingClause', 'windowClause', 'limitOffset', 'limitCount'])
    binder.expression(select[field], context);
  const keys = [...listOf(select['distinctClause']), ...listOf(select['groupClause']), ...listOf(select['sortClause'])];
  for (const key of keys) bindKey(key, columns, context, binder);
  return columns;
}

const windowNames = (select: Tree): ReadonlySet<string> =>
  new Set(listOf(select['windowClause']).flatMap((window) => textOf(fieldsOf(window, 'WindowDef')?.['name']) ?? []));

interface Targets {
  readonly context: Context;
  readonly star: Columns;
  readonly binder: Binder;
}

function bindTargets(targets: readonly unknown[], { context, star, binder }: Targets): Columns {
  const list: Column[] = [];
  let open = false;
  const add = (columns: Columns): void => {
    if (open) return;
    requireColumnCount(list.length + columns.list.length);
    list.push(...visibleColumns(columns).list);
    open = columns.open;
  };
  for (const target of targets) {
    const { name, val } = fieldsOf(target, 'ResTarget') ?? {};
    const size = binder.expression(val, context);
    const starred = starOf(val, star, context);
    if (starred) add(starred);
    else add({ list: [{ name: textOf(name) ?? outputName(val, binder.columnsOf), size, stored: isStored(val, context) }], open: false });
  }
  return { list, open };
}

/** True for a column of a table, unlike a value that an aggregate collected. */
export function isStored(node: unknown, { namespace }: Context): boolean {
  const [first, second] = namesOf(fieldsOf(node, 'ColumnRef')?.['fields']) ?? [];
  if (first === undefined) return false;
  const columns = second === undefined ? undefined : findRelation(namespace, first)?.columns;
  const column = second === undefined ? findColumn(namespace, first) : columns && findIn(columns, second);
  return column?.stored === true;
}

/** The columns of `*` and `relation.*`. */
function starOf(node: unknown, star: Columns, { namespace }: Context): Columns | undefined {
  const fields = listOf(fieldsOf(node, 'ColumnRef')?.['fields']);
  if (fieldsOf(fields.at(-1), 'A_Star') === undefined) return undefined;
  const names = namesOf(fields.slice(0, -1)) ?? [];
  return names[0] === undefined ? star : findRelation(namespace, names[0])?.columns;
}

/** In GROUP BY, ORDER BY and DISTINCT ON a name alone may also be that of an output column. */
function bindKey(key: unknown, outputs: Columns, context: Context, binder: Binder): void {
  const node = fieldsOf(key, 'SortBy')?.['node'] ?? key;
  const parts = fieldsOf(node, 'GroupingSet')?.['content'] ?? fieldsOf(node, 'RowExpr')?.['args'];
  if (parts !== undefined) {
    for (const part of listOf(parts)) bindKey(part, outputs, context, binder);
    return;
  }
  const [name, ...more] = namesOf(fieldsOf(node, 'ColumnRef')?.['fields']) ?? [];
  const isOutput = name !== undefined && more.length === 0 && findIn(outputs, name) !== undefined;
  if (!isOutput || findColumn(context.namespace, name)) binder.expression(node, context);
}

function bindValues(select: Tree, context: Context, binder: Binder): Columns {
  const rows = listOf(select['valuesLists']).map((row) =>
    listOf(fieldsOf(row, 'List')?.['items']).map((item) => binder.expression(item, context)),
  );
  const list = (rows[0] ?? []).map((_, index) => ({
    name: `column${index + 1}`,
    size: Math.max(...rows.map((row) => row[index] ?? 0)),
  }));
  bindTail(select, { list, open: false }, context, binder);
  return { list, open: false };
}

function bindSetOperation(select: Tree, context: Context, binder: Binder, onLeft: OnLeft): Columns {
  const [larg, rarg] = [select['larg'], select['rarg']];
  if (!isTree(larg) || !isTree(rarg)) throw new Refusal('UNION, INTERSECT and EXCEPT need a SELECT on both sides.');
  const left = visibleColumns(binder.select(larg, context));
  onLeft?.(left);
  const right = visibleColumns(binder.select(rarg, context));
  const list = left.list.map((column, index) => ({
    ...column,
    size: Math.max(column.size, right.list[index]?.size ?? 0),
    stored: column.stored === true && right.list[index]?.stored === true,
  }));
  bindTail(select, { list, open: left.open }, context, binder);
  return { list, open: left.open };
}

/** ORDER BY and LIMIT of a set operation, which see only output columns. */
function bindTail(select: Tree, columns: Columns, outer: Context, binder: Binder): void {
  const context = { ...outer, namespace: { relations: [{ name: undefined, columns }], parent: outer.namespace } };
  for (const key of listOf(select['sortClause'])) bindKey(key, columns, context, binder);
  for (const field of ['limitOffset', 'limitCount']) binder.expression(select[field], context);
}

/** Each query of WITH sees those before it; with RECURSIVE all of them, also itself. */
function bindWith(clause: unknown, context: Context, binder: Binder): Context {
  if (!isTree(clause)) return context;
  const expressions = listOf(clause['ctes']).map((item) => fieldsOf(item, 'CommonTableExpr') ?? {});
  const recursive = clause['recursive'] === true;
  const entries = new Map<string, Cte>();
  const all: CteScope = { entries, parent: context.ctes };
  for (const expression of expressions) {
    const name = textOf(expression['ctename']) ?? '';
    if (entries.has(name)) throw new Refusal(`The name "${name}" is used twice in WITH.`);
    const visible = recursive ? all : { entries: new Map(entries), parent: context.ctes };
    entries.set(name, createCte(expression, { ...context, ctes: visible }, binder));
  }
  for (const cte of entries.values()) cte.columns();
  return { ...context, ctes: all };
}

/** Binds the query at its first reference. A recursive one has the columns of its left side while its right side is bound. */
function createCte(expression: Tree, context: Context, binder: Binder): Cte {
  const name = textOf(expression['ctename']) ?? '';
  const query = fieldsOf(expression['ctequery'], 'SelectStmt');
  if (query === undefined) throw new Refusal('Only SELECT can stand in a WITH clause.');
  const rename = (columns: Columns): Columns => renameColumns(columns, namesOf(expression['aliascolnames']) ?? [], name);
  let started = false;
  let recursive = false;
  let left: Columns | undefined;
  let columns: Columns | undefined;
  const bind = (): Columns => {
    started = true;
    const bound = visibleColumns(
      binder.select(query, context, (columns) => {
        left = columns;
      }),
    );
    const own = rename(left && recursive ? afterSteps(name, left, bound) : bound);
    const added = addedColumns(expression, own, context, binder);
    return { list: [...own.list, ...(own.open ? [] : added)], open: own.open };
  };
  return {
    level: context.level,
    columns() {
      if (columns) return columns;
      if (!started) {
        columns = bind();
        return columns;
      }
      if (left === undefined) throw new Refusal(`The query "${name}" can refer to itself only on the right side of its UNION.`);
      recursive = true;
      return rename({ ...left, list: left.list.map((column) => ({ ...column, size: startingSize, stored: false })) });
    },
  };
}

function afterSteps(name: string, left: Columns, bound: Columns): Columns {
  const list = bound.list.map((column, index) => {
    requireBoundedStep(name, column.size);
    return { ...column, stored: false, size: sizeAfterSteps(left.list[index]?.size ?? 0, column.size) };
  });
  return { list, open: bound.open };
}

/** Columns that SEARCH and CYCLE add: marks, which are constants, and lists to which each step adds a row. */
function addedColumns({ search_clause: search, cycle_clause: cycle }: Tree, columns: Columns, context: Context, binder: Binder): Column[] {
  const added = (name: unknown, size: number): Column => ({ name: textOf(name) ?? '', size, hidden: true });
  const listOfRows = (name: unknown, names: unknown): Column => {
    const row = (namesOf(names) ?? []).reduce((sum, one) => sum + (findIn(columns, one)?.size ?? 0), 0);
    return added(name, sizeAfterSteps(row, startingSize + row));
  };
  const list: Column[] = [];
  if (isTree(search)) list.push(listOfRows(search['search_seq_column'], search['search_col_list']));
  if (isTree(cycle)) {
    const mark = binder.expression([cycle['cycle_mark_value'], cycle['cycle_mark_default']], context);
    list.push(added(cycle['cycle_mark_column'], mark), listOfRows(cycle['cycle_path_column'], cycle['cycle_col_list']));
  }
  return list;
}
