import { type CatalogColumn, storedType } from '../catalog.ts';
import { Refusal } from '../refusal.ts';
import type { ResolvedScope, ScopedTable } from '../scope.ts';
import { dependentColumns } from './functional-dependency.ts';
import { columnNode, fieldsOf, isTree, listOf, stringNode, type Tree, textOf } from './tree.ts';

export interface Rewritten {
  readonly statement: Tree;
  /** The tables that it reads. */
  readonly tables: readonly ScopedTable[];
}

type Names = ReadonlySet<string>;
type Rewrite = (node: unknown, ctes: Names) => unknown;

/**
 * Puts a subquery over the columns in scope in the place of each table, so that what is outside has no name. Whatever
 * refers to a table in another way than FROM is refused, of any node kind there is.
 */
export function rewrite(statement: unknown, scope: ResolvedScope): Rewritten {
  const select = fieldsOf(statement, 'SelectStmt');
  if (select === undefined) throw new Refusal('Only a SELECT statement can run.');
  const tables = new Set<ScopedTable>();
  const resolve = (range: Tree) => {
    const table = resolveTable(scope, range);
    tables.add(table);
    return table;
  };
  const rewritten = rewriteSelect(select, new Set(), createRewrite(scope, resolve), scope);
  return { statement: { SelectStmt: rewritten }, tables: [...tables] };
}

function createRewrite(scope: ResolvedScope, resolve: (range: Tree) => ScopedTable): Rewrite {
  const kinds = new Map<string, (fields: Tree, ctes: Names) => Tree>([
    ['SelectStmt', (fields, ctes) => ({ SelectStmt: rewriteSelect(fields, ctes, anything, scope) })],
    ['RangeVar', (fields, ctes) => (isCte(fields, ctes) ? { RangeVar: fields } : subselect(resolve(fields), fields['alias']))],
    ['RangeTableSample', (fields, ctes) => rewriteSample(fields, ctes, resolve, anything)],
    ['ColumnRef', (fields) => ({ ColumnRef: shortened(fields, scope) })],
  ]);

  const anything: Rewrite = (node, ctes) => {
    if (Array.isArray(node)) return node.map((item) => anything(item, ctes));
    if (!isTree(node)) return node;
    const [kind = ''] = Object.keys(node);
    const fields = fieldsOf(node, kind);
    const special = fields && kinds.get(kind)?.(fields, ctes);
    if (special) return special;
    requireHarmless(node, kind);
    return mapFields(node, (value) => anything(value, ctes));
  };
  return anything;
}

/** A table named outside of FROM (as the target of INTO or of a data-modifying statement), or any other statement. */
function requireHarmless(node: Tree, kind: string): void {
  if (kind.endsWith('Stmt') || 'relname' in node || 'ctequery' in node)
    throw new Refusal('This statement has a form that is not supported.');
}

function mapFields(node: Tree, map: (value: unknown) => unknown): Tree {
  const mapped: Record<string, unknown> = {};
  for (const field in node) mapped[field] = map(node[field]);
  return mapped;
}

/** WITH names are seen by what follows, with RECURSIVE also by themselves and those before; each operand of a UNION sees them too. */
function rewriteSelect(fields: Tree, outer: Names, anything: Rewrite, scope: ResolvedScope): Tree {
  if (fields['intoClause'] !== undefined) throw new Refusal('SELECT INTO is not available here.');
  if (fields['lockingClause'] !== undefined) throw new Refusal('FOR UPDATE and FOR SHARE are not available here.');
  const { withClause, larg, rarg, ...rest } = fields;
  const { ctes, clause } = rewriteWith(withClause, outer, anything);
  const operand = (side: unknown) => (isTree(side) ? rewriteSelect(side, ctes, anything, scope) : undefined);
  const [left, right] = [operand(larg), operand(rarg)];
  const lookUp = (range: Tree) =>
    isCte(range, ctes) ? undefined : scope.find(textOf(range['schemaname']), textOf(range['relname']) ?? '');
  const grouped = [...listOf(fields['groupClause']), ...dependentColumns(fields, lookUp)];
  const body = mapFields({ ...rest, ...(grouped.length > 0 && { groupClause: grouped }) }, (value) => anything(value, ctes));
  return { ...body, ...(clause && { withClause: clause }), ...(left && { larg: left }), ...(right && { rarg: right }) };
}

function rewriteWith(clause: unknown, outer: Names, anything: Rewrite): { ctes: Names; clause?: Tree } {
  if (!isTree(clause)) return { ctes: outer };
  const expressions = listOf(clause['ctes']).map((item) => fieldsOf(item, 'CommonTableExpr'));
  const names = expressions.map((expression) => textOf(expression?.['ctename']) ?? '');
  const all: Names = new Set([...outer, ...names]);
  const recursive = clause['recursive'] === true;
  const ctes = expressions.map((expression, index) => {
    const query = fieldsOf(expression?.['ctequery'], 'SelectStmt');
    if (expression === undefined || query === undefined) throw new Refusal('Only SELECT can stand in a WITH clause.');
    const visible: Names = recursive ? all : new Set([...outer, ...names.slice(0, index)]);
    const { ctequery, ...rest } = expression;
    const body = mapFields(rest, (value) => anything(value, visible));
    return { CommonTableExpr: { ...body, ctequery: anything(ctequery, visible) } };
  });
  return { ctes: all, clause: { ...clause, ctes } };
}

const isCte = (range: Tree, ctes: Names): boolean =>
  range['schemaname'] === undefined && range['catalogname'] === undefined && ctes.has(textOf(range['relname']) ?? '');

function resolveTable(scope: ResolvedScope, range: Tree): ScopedTable {
  const [schema, name] = [textOf(range['schemaname']), textOf(range['relname']) ?? ''];
  const written = schema === undefined ? name : `${schema}.${name}`;
  if (range['catalogname'] !== undefined) throw new Refusal('A table of another database cannot be read.');
  if (range['inh'] !== true) throw new Refusal('ONLY is not available here.');
  const table = scope.find(schema, name);
  if (table === 'ambiguous') throw new Refusal(`There are several tables "${name}": write the schema before it.`);
  if (table === undefined) throw new Refusal(`There is no table "${written}" here. There are: ${listTables(scope)}.`);
  return table;
}

const mostListed = 50;

function listTables({ tables }: ResolvedScope): string {
  const listed = tables.slice(0, mostListed).map(({ written }) => written);
  return listed.length === 0 ? 'none' : `${listed.join(', ')}${tables.length > mostListed ? ', ...' : ''}`;
}

function rewriteSample(fields: Tree, ctes: Names, resolve: (range: Tree) => ScopedTable, anything: Rewrite): Tree {
  const range = fieldsOf(fields['relation'], 'RangeVar');
  if (range === undefined || isCte(range, ctes)) throw new Refusal('Only a table can be sampled.');
  const { relation: _, ...rest } = fields;
  const sample = mapFields(rest, (value) => anything(value, ctes));
  return subselect(resolve(range), range['alias'], (table) => ({ RangeTableSample: { ...sample, relation: table } }));
}

/** `orders o` becomes `(SELECT id, total FROM public.orders) o`. */
function subselect(table: ScopedTable, alias: unknown, from: (table: Tree) => Tree = (node) => node): Tree {
  const relation: Tree = { RangeVar: { schemaname: table.schema, relname: table.name, inh: true, relpersistence: 'p' } };
  const query = {
    targetList: table.columns.map((column) => ({ ResTarget: targetOf(table, column) })),
    fromClause: [from(relation)],
    op: 'SETOP_NONE',
    ...(table.fenced ? fence : { limitOption: 'LIMIT_OPTION_DEFAULT' }),
  };
  return { RangeSubselect: { subquery: { SelectStmt: query }, alias: isTree(alias) ? alias : { aliasname: table.name } } };
}

/** Names of things in the catalogues, which texts are compared with by looking them up, and shapes, whose operators cannot be stopped. */
const givenAsText =
  /^(reg(class|proc|procedure|oper|operator|role|namespace|type|config|dictionary|collation)|line|lseg|box|path|polygon|circle)((?:\[\])*)$/;

function targetOf(table: ScopedTable, catalogColumn: CatalogColumn): Tree {
  const { name } = catalogColumn;
  const type = storedType(catalogColumn);
  const column = columnNode(table.name, name);
  if (!givenAsText.test(type)) return { val: column };
  const typeName = {
    names: [stringNode('text')],
    typemod: -1,
    ...(type.endsWith('[]') && { arrayBounds: [{ Integer: { ival: -1 } }] }),
  };
  return { name, val: { TypeCast: { arg: column, typeName } } };
}

/** OFFSET 0: the planner does not move conditions below it. */
const fence: Tree = { limitOffset: { A_Const: { ival: {} } }, limitOption: 'LIMIT_OPTION_COUNT' };

/** `schema.table.column` names no subquery; `table.column` does. */
function shortened(fields: Tree, scope: ResolvedScope): Tree {
  const names = listOf(fields['fields']);
  if (names.length !== 3) return fields;
  const [schema, table] = names.map((name) => textOf(fieldsOf(name, 'String')?.['sval']));
  const isTable = schema !== undefined && table !== undefined && typeof scope.find(schema, table) === 'object';
  return isTable ? { ...fields, fields: [stringNode(table), names[2]] } : fields;
}
