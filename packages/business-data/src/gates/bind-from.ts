import { Refusal } from '../failure.ts';
import { allowedFunctions } from './allowed-names.ts';
import {
  type Binder,
  type Column,
  type Columns,
  type Context,
  type CteScope,
  concatColumns,
  type FromPart,
  findIn,
  noColumns,
  type Relation,
  renameColumns,
  unknownColumns,
  visibleColumns,
} from './namespace.ts';
import { outputName } from './output-name.ts';
import { fieldsOf, isTree, listOf, namesOf, type Tree, textOf } from './tree.ts';
import { cellSize, sizeOfPath } from './value-size.ts';

/** Binds a FROM clause: its items from left to right. LATERAL items see the items before them. */
export function bindFrom(items: readonly unknown[], context: Context, binder: Binder): FromPart {
  const bind = createItemBinder(context, binder);
  return items.reduce<FromPart>(
    (before, item) => {
      const { relations, star } = bind(item, before.relations);
      return { relations: [...before.relations, ...relations], star: concatColumns(before.star, star) };
    },
    { relations: [], star: noColumns },
  );
}

type ItemBinder = (item: unknown, before: readonly Relation[]) => FromPart;

function createItemBinder(context: Context, binder: Binder): ItemBinder {
  const within = (relations: readonly Relation[]): Context => ({ ...context, namespace: { relations, parent: context.namespace } });
  const kinds = new Map<string, (fields: Tree, before: readonly Relation[]) => FromPart>([
    ['RangeVar', (range) => bindRange(range, context, binder)],
    ['RangeSubselect', (range, before) => bindSubselect(range, range['lateral'] === true ? within(before) : context, binder)],
    // These are LATERAL without the keyword.
    ['RangeFunction', (range, before) => bindFunctions(range, within(before), binder)],
    ['JsonTable', (range, before) => bindJsonTable(range, within(before), binder)],
    ['RangeTableSample', (range) => bindSample(range)],
    ['JoinExpr', (join, before) => bindJoin(join, before)],
  ]);

  const bind: ItemBinder = (item, before) => {
    const [kind = ''] = isTree(item) ? Object.keys(item) : [];
    const fields = fieldsOf(item, kind);
    const part = fields && kinds.get(kind)?.(fields, before);
    if (part === undefined) throw new Refusal('FROM can only list tables, subqueries in parentheses, functions and joins of these.');
    return part;
  };

  function bindSample(range: Tree): FromPart {
    for (const argument of [...listOf(range['args']), range['repeatable']]) binder.expression(argument, context);
    return bind(range['relation'], []);
  }

  function bindJoin(join: Tree, before: readonly Relation[]): FromPart {
    const left = bind(join['larg'], before);
    const right = bind(join['rarg'], [...before, ...left.relations]);
    const using = join['isNatural'] === true ? commonNames(left.star, right.star) : (namesOf(join['usingClause']) ?? []);
    const merged = using.map((name) => mergedColumn(name, left.star, right.star));
    const inside = [...left.relations, ...right.relations];
    binder.expression(join['quals'], within(inside));
    const natural = join['isNatural'] === true && (left.star.open || right.star.open);
    const star = natural ? { list: [], open: true } : joinedColumns(merged, left.star, right.star);
    const alias = isTree(join['alias']) ? join['alias'] : undefined;
    if (alias) return namedPart(alias, '', star);
    const usingAlias = isTree(join['join_using_alias']) ? textOf(join['join_using_alias']['aliasname']) : undefined;
    // It stands after the sides of its join, so that a name without it is found there first.
    const relation: Relation = { name: usingAlias, columns: { list: merged, open: false } };
    return { relations: usingAlias === undefined ? inside : [...inside, relation], star };
  }
  return bind;
}

/** A relation under its alias, whose column list renames the columns. */
function namedPart(alias: unknown, ownName: string | undefined, columns: Columns): FromPart {
  const fields = isTree(alias) ? alias : {};
  const name = textOf(fields['aliasname']) ?? ownName;
  const renamed = renameColumns(columns, namesOf(fields['colnames']) ?? [], name ?? 'subquery');
  return { relations: [{ name, columns: renamed }], star: renamed };
}

function bindRange(range: Tree, context: Context, binder: Binder): FromPart {
  const [schema, name] = [textOf(range['schemaname']), textOf(range['relname']) ?? ''];
  if (range['catalogname'] !== undefined) throw new Refusal('A table of another database cannot be read.');
  if (schema === undefined) return namedPart(range['alias'], name, columnsOfCte(name, context));
  const table = binder.table(schema, name);
  if (table === undefined) throw new Refusal(`There is no table "${schema}.${name}" here.`);
  return namedPart(range['alias'], name, {
    list: table.columns.map((column) => ({ name: column.name, size: cellSize, stored: true })),
    open: false,
  });
}

function columnsOfCte(name: string, { ctes, level }: Context): Columns {
  for (let scope: CteScope | undefined = ctes; scope !== undefined; scope = scope.parent) {
    const cte = scope.entries.get(name);
    if (cte === undefined) continue;
    const { list, open } = cte.columns();
    return cte.level === level ? { list: list.map(({ hidden: _, ...column }) => column), open } : { list, open };
  }
  throw new Refusal(`There is no table "${name}" here.`);
}

function bindSubselect(range: Tree, context: Context, binder: Binder): FromPart {
  const select = fieldsOf(range['subquery'], 'SelectStmt');
  if (select === undefined) throw new Refusal('Only SELECT can stand in a FROM clause.');
  return namedPart(range['alias'], undefined, visibleColumns(binder.select(select, context)));
}

function bindJsonTable(table: Tree, context: Context, binder: Binder): FromPart {
  const { columns, alias, ...rest } = table;
  const size = binder.expression(rest, context);
  sizeOfPath(isTree(rest['pathspec']) ? rest['pathspec']['string'] : undefined, size);
  const list = jsonColumns(listOf(columns), context, binder);
  return namedPart(alias, 'json_table', { list, open: false });
}

/** Columns of nested paths come after the columns at their level. */
function jsonColumns(columns: readonly unknown[], context: Context, binder: Binder): Column[] {
  const own: Column[] = [];
  const nested: Column[] = [];
  for (const column of columns) {
    const { columns: inner, name, ...rest } = fieldsOf(column, 'JsonTableColumn') ?? {};
    binder.expression(rest, context);
    if (rest['coltype'] === 'JTC_NESTED') nested.push(...jsonColumns(listOf(inner), context, binder));
    else own.push({ name: textOf(name) ?? '', size: cellSize });
  }
  return [...own, ...nested];
}

const commonNames = (left: Columns, right: Columns): string[] => {
  const names = new Set(right.list.map(({ name }) => name));
  return left.list.map(({ name }) => name).filter((name) => names.has(name));
};

function mergedColumn(name: string, left: Columns, right: Columns): Column {
  const sides = [left, right].map((side) => findIn(side, name));
  if (sides.some((side) => side === undefined)) throw new Refusal(`The column "${name}" of USING must exist on both sides of the join.`);
  if (sides.some((side) => side?.hidden)) throw new Refusal(`The column "${name}" of SEARCH or CYCLE cannot join here.`);
  return { name, size: Math.max(...sides.map((side) => side?.size ?? 0)) };
}

/** Merged columns first, then the other columns of both sides. */
function joinedColumns(merged: readonly Column[], left: Columns, right: Columns): Columns {
  const names = new Set(merged.map(({ name }) => name));
  const rest = ({ list, open }: Columns): Columns => ({ list: list.filter(({ name }) => !names.has(name)), open });
  return concatColumns(concatColumns({ list: merged, open: false }, rest(left)), rest(right));
}

/** Allowed functions with named output columns. Every other function returns one column of its own name. */
const outputColumns: ReadonlyMap<string, readonly string[]> = new Map(
  ['json', 'jsonb'].flatMap((type): [string, readonly string[]][] => [
    [`${type}_array_elements`, ['value']],
    [`${type}_array_elements_text`, ['value']],
    [`${type}_each`, ['key', 'value']],
    [`${type}_each_text`, ['key', 'value']],
  ]),
);

/** Allowed functions whose columns are named by a column definition list. */
const recordFunctions: ReadonlySet<string> = new Set(['json_to_record', 'jsonb_to_record', 'json_to_recordset', 'jsonb_to_recordset']);

/** Allowed functions that may return a row type, depending on their argument. */
const elementFunctions: ReadonlySet<string> = new Set(['unnest', 'lower', 'upper']);

const lexemeColumns = ['lexeme', 'positions', 'weights'];
/** Allowed functions that return a tsvector. */
const tsvectorFunctions = new Set(['to_tsvector', 'setweight', 'strip']);

const columnsNamed = (names: readonly string[]): Columns => ({ list: names.map((name) => ({ name, size: cellSize })), open: false });

interface Item {
  readonly call: unknown;
  readonly definitions: readonly unknown[];
}

/** Binds functions in FROM, which form one relation. */
function bindFunctions(range: Tree, context: Context, binder: Binder): FromPart {
  const items = listOf(range['functions']).flatMap((item) => splitUnnest(itemOf(item, range['coldeflist'])));
  for (const { call } of items) binder.expression(call, context);
  const alias = isTree(range['alias']) ? range['alias'] : undefined;
  const names = items.map(({ call }) => outputName(call, binder.columnsOf));
  const name = textOf(alias?.['aliasname']) ?? names[0] ?? '';
  const scalarName = items.length === 1 && alias !== undefined ? name : undefined;
  const parts = items.map((item, index) => columnsOf(item, scalarName ?? names[index] ?? '', binder));
  const ordinality = range['ordinality'] === true ? columnsNamed(['ordinality']) : noColumns;
  const columns = renameColumns([...parts, ordinality].reduce(concatColumns, noColumns), namesOf(alias?.['colnames']) ?? [], name);
  return { relations: [{ name, columns }], star: columns };
}

function itemOf(item: unknown, coldeflist: unknown): Item {
  const [call, definitions] = listOf(fieldsOf(item, 'List')?.['items']);
  const own = listOf(fieldsOf(definitions, 'List')?.['items']);
  return { call, definitions: own.length > 0 ? own : listOf(coldeflist) };
}

/** PostgreSQL reads `unnest(a, b)` in FROM as `ROWS FROM (unnest(a), unnest(b))`. */
function splitUnnest(item: Item): Item[] {
  const fields = fieldsOf(item.call, 'FuncCall');
  const args = listOf(fields?.['args']);
  if (args.length < 2 || (namesOf(fields?.['funcname']) ?? []).join('.') !== 'unnest') return [item];
  return args.map((arg) => ({ ...item, call: { FuncCall: { ...fields, args: [arg] } } }));
}

function columnsOf({ call, definitions }: Item, scalarName: string, binder: Binder): Columns {
  if (definitions.length > 0) return columnsNamed(definitions.map((one) => textOf(fieldsOf(one, 'ColumnDef')?.['colname']) ?? ''));
  if (fieldsOf(call, 'SQLValueFunction')) return columnsNamed([scalarName]);
  const fields = fieldsOf(call, 'FuncCall');
  // Allowed, such as COALESCE, but the type is that of the arguments.
  if (fields === undefined) return binder.mayBeComposite() ? unknownColumns : columnsNamed([scalarName]);
  const name = namesOf(fields['funcname'])?.at(-1) ?? '';
  if (!allowedFunctions.has(name)) throw new Refusal(`The function "${name}" is not available here.`);
  if (recordFunctions.has(name)) throw new Refusal(`Write the columns of ${name}() after it: ${name}(...) AS r(a text, b integer).`);
  const known = outputColumns.get(name);
  if (known) return columnsNamed(known);
  if (!elementFunctions.has(name)) return columnsNamed([scalarName]);
  return columnsOfElement(listOf(fields['args'])[0], scalarName, binder);
}

/** An array of a row type has the columns of that type, and a tsvector those of its lexemes. */
function columnsOfElement(argument: unknown, scalarName: string, binder: Binder): Columns {
  const call = namesOf(fieldsOf(argument, 'FuncCall')?.['funcname'])?.at(-1);
  if (call !== undefined && tsvectorFunctions.has(call)) return columnsNamed(lexemeColumns);
  if (isArray(argument)) return columnsNamed([scalarName]);
  return binder.mayBeComposite() || binder.mayBeTsvector() ? unknownColumns : columnsNamed([scalarName]);
}

/** True for a cast to an array. The grammar allows only built-in types. */
function isArray(argument: unknown): boolean {
  const type = fieldsOf(argument, 'TypeCast')?.['typeName'];
  return isTree(type) && listOf(type['arrayBounds']).length > 0 && !namesOf(type['names'])?.includes('tsvector');
}
