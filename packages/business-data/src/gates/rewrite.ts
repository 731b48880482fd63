import { Refusal } from '../failure.ts';
import { type CatalogColumn, storedType } from '../scope/catalog.ts';
import type { ResolvedScope, ScopedTable } from '../scope/scope.ts';
import { columnNode, fieldsOf, isTree, listOf, namesOf, stringNode, type Tree, textOf } from './tree.ts';

export interface Rewritten {
  readonly statement: Tree;
  /** The tables that it reads. */
  readonly tables: readonly ScopedTable[];
}

type Names = ReadonlySet<string>;
type Rewrite = (node: unknown, ctes: Names) => unknown;

/**
 * Replaces each table by a subquery over its columns in scope, so that columns outside the scope have no name. A table reference
 * anywhere but in FROM is refused, in any kind of node.
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
    ['SelectStmt', (fields, ctes) => ({ SelectStmt: rewriteSelect(fields, ctes, rewriteNode, scope) })],
    ['RangeVar', (fields, ctes) => (isCte(fields, ctes) ? { RangeVar: fields } : subselect(resolve(fields), fields['alias']))],
    ['RangeTableSample', (fields, ctes) => rewriteSample(fields, ctes, resolve, rewriteNode)],
    ['ColumnRef', (fields) => ({ ColumnRef: shortenColumn(fields, scope) })],
  ]);

  const rewriteNode: Rewrite = (node, ctes) => {
    if (Array.isArray(node)) return node.map((item) => rewriteNode(item, ctes));
    if (!isTree(node)) return node;
    const [kind = ''] = Object.keys(node);
    const fields = fieldsOf(node, kind);
    const special = fields && kinds.get(kind)?.(fields, ctes);
    if (special) return special;
    requireNoTable(node, kind);
    return mapFields(node, (value) => rewriteNode(value, ctes));
  };
  return rewriteNode;
}

/** Refuses a table named outside FROM (such as the target of INTO or of a data-modifying statement), and any other statement. */
function requireNoTable(node: Tree, kind: string): void {
  if (kind.endsWith('Stmt') || 'relname' in node || 'ctequery' in node)
    throw new Refusal(
      'A table can only be named in FROM. Write a SELECT that only reads, without INTO and without changes in a WITH clause.',
    );
}

function mapFields(node: Tree, map: (value: unknown) => unknown): Tree {
  const mapped: Record<string, unknown> = {};
  for (const field in node) mapped[field] = map(node[field]);
  return mapped;
}

/** Names of WITH are visible to the queries after them, with RECURSIVE to all of them, and to each operand of a UNION. */
function rewriteSelect(fields: Tree, outer: Names, rewriteNode: Rewrite, scope: ResolvedScope): Tree {
  if (fields['intoClause'] !== undefined) throw new Refusal('SELECT INTO is not available here.');
  if (fields['lockingClause'] !== undefined) throw new Refusal('FOR UPDATE and FOR SHARE are not available here.');
  const { withClause, larg, rarg, ...rest } = fields;
  const { ctes, clause } = rewriteWith(withClause, outer, rewriteNode);
  const operand = (side: unknown) => (isTree(side) ? rewriteSelect(side, ctes, rewriteNode, scope) : undefined);
  const [left, right] = [operand(larg), operand(rarg)];
  const lookUp = (range: Tree) =>
    isCte(range, ctes) ? undefined : scope.find(textOf(range['schemaname']), textOf(range['relname']) ?? '');
  const grouped = [...listOf(fields['groupClause']), ...dependentColumns(fields, lookUp)];
  const body = mapFields({ ...rest, ...(grouped.length > 0 && { groupClause: grouped }) }, (value) => rewriteNode(value, ctes));
  return { ...body, ...(clause && { withClause: clause }), ...(left && { larg: left }), ...(right && { rarg: right }) };
}

function rewriteWith(clause: unknown, outer: Names, rewriteNode: Rewrite): { ctes: Names; clause?: Tree } {
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
    const body = mapFields(rest, (value) => rewriteNode(value, visible));
    return { CommonTableExpr: { ...body, ctequery: rewriteNode(ctequery, visible) } };
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

const maxListed = 50;

function listTables({ tables }: ResolvedScope): string {
  const listed = tables.slice(0, maxListed).map(({ written }) => written);
  return listed.length === 0 ? 'none' : `${listed.join(', ')}${tables.length > maxListed ? ', ...' : ''}`;
}

function rewriteSample(fields: Tree, ctes: Names, resolve: (range: Tree) => ScopedTable, rewriteNode: Rewrite): Tree {
  const range = fieldsOf(fields['relation'], 'RangeVar');
  if (range === undefined || isCte(range, ctes)) throw new Refusal('Only a table can be sampled.');
  const { relation: _, ...rest } = fields;
  const sample = mapFields(rest, (value) => rewriteNode(value, ctes));
  return subselect(resolve(range), range['alias'], (table) => ({ RangeTableSample: { ...sample, relation: table } }));
}

/** `orders o` becomes `(SELECT id, total FROM public.orders) o`. */
function subselect(table: ScopedTable, alias: unknown, from: (table: Tree) => Tree = (node) => node): Tree {
  const relation: Tree = { RangeVar: { schemaname: table.schema, relname: table.name, inh: true, relpersistence: 'p' } };
  const query = {
    targetList: table.columns.map((column) => ({ ResTarget: columnTarget(table, column) })),
    fromClause: [from(relation)],
    op: 'SETOP_NONE',
    ...(table.needsFence ? fence : { limitOption: 'LIMIT_OPTION_DEFAULT' }),
  };
  return { RangeSubselect: { subquery: { SelectStmt: query }, alias: isTree(alias) ? alias : { aliasname: table.name } } };
}

/** Types that are read as text: names of catalog objects, because comparing them looks up names, and shapes, because their operators cannot be stopped. */
const readAsText =
  /^(reg(class|proc|procedure|oper|operator|role|namespace|type|config|dictionary|collation)|line|lseg|box|path|polygon|circle)((?:\[\])*)$/;

function columnTarget(table: ScopedTable, catalogColumn: CatalogColumn): Tree {
  const { name } = catalogColumn;
  const type = storedType(catalogColumn);
  const column = columnNode(table.name, name);
  if (!readAsText.test(type)) return { val: column };
  const typeName = {
    names: [stringNode('text')],
    typemod: -1,
    ...(type.endsWith('[]') && { arrayBounds: [{ Integer: { ival: -1 } }] }),
  };
  return { name, val: { TypeCast: { arg: column, typeName } } };
}

/** OFFSET 0 keeps the planner from evaluating conditions below it. */
const fence: Tree = { limitOffset: { A_Const: { ival: {} } }, limitOption: 'LIMIT_OPTION_COUNT' };

/** A subquery has no schema, so `schema.table.column` becomes `table.column`. */
function shortenColumn(fields: Tree, scope: ResolvedScope): Tree {
  const names = listOf(fields['fields']);
  if (names.length !== 3) return fields;
  const [schema, table] = names.map((name) => textOf(fieldsOf(name, 'String')?.['sval']));
  const isTable = schema !== undefined && table !== undefined && typeof scope.find(schema, table) === 'object';
  return isTable ? { ...fields, fields: [stringNode(table), names[2]] } : fields;
}

type Relations = ReadonlyMap<string, ScopedTable>;

/**
 * PostgreSQL allows a query that groups by a table's primary key to name its other columns, but not through a subquery. So these
 * columns are added to GROUP BY: they depend on the key, and the groups stay the same.
 */
function dependentColumns(select: Tree, lookUp: (range: Tree) => ScopedTable | 'ambiguous' | undefined): Tree[] {
  const keys = listOf(select['groupClause']);
  if (keys.length === 0 || keys.some((key) => fieldsOf(key, 'GroupingSet') !== undefined)) return [];
  const relations = relationsIn(listOf(select['fromClause']), lookUp);
  const grouped = new Set(keys.flatMap((key) => resolveColumn(targetOf(key, select), relations)));
  const determined = new Map([...relations].filter(([alias, table]) => isDetermined(alias, table, grouped)));
  if (determined.size === 0) return [];
  const referenced = referencesIn([select['targetList'], select['havingClause'], select['sortClause'], select['windowClause']], relations);
  return [...determined].flatMap(([alias, { columns }]) =>
    columns
      .filter(({ name, groupable }) => groupable && !grouped.has(idOf(alias, name)) && referenced.has(idOf(alias, name)))
      .map(({ name }) => columnNode(alias, name)),
  );
}

const idOf = (alias: string, column: string): string => `${alias}\0${column}`;

const isDetermined = (alias: string, { primaryKey }: ScopedTable, grouped: ReadonlySet<string>): boolean =>
  primaryKey.length > 0 && primaryKey.every((column) => grouped.has(idOf(alias, column)));

/** The tables of this FROM by the name they have in it, without those whose columns or join are renamed. */
function relationsIn(from: readonly unknown[], lookUp: (range: Tree) => ScopedTable | 'ambiguous' | undefined): Relations {
  const relations = new Map<string, ScopedTable>();
  const visit = (node: unknown): void => {
    const join = fieldsOf(node, 'JoinExpr');
    if (join && join['alias'] === undefined) [join['larg'], join['rarg']].forEach(visit);
    const range = fieldsOf(node, 'RangeVar');
    const table = range && lookUp(range);
    if (table === undefined || table === 'ambiguous') return;
    const alias = isTree(range?.['alias']) ? range['alias'] : undefined;
    if (alias?.['colnames'] === undefined) relations.set(textOf(alias?.['aliasname']) ?? table.name, table);
  };
  from.forEach(visit);
  return relations;
}

/** `group by 1` means the first target. */
function targetOf(key: unknown, select: Tree): unknown {
  const ordinal = fieldsOf(key, 'A_Const')?.['ival'];
  if (!isTree(ordinal)) return key;
  return fieldsOf(listOf(select['targetList'])[Number(ordinal['ival'] ?? 0) - 1], 'ResTarget')?.['val'];
}

/** The columns of these tables that a reference names: none, one, or with a star all of them. */
function resolveColumn(node: unknown, relations: Relations): string[] {
  const fields = listOf(fieldsOf(node, 'ColumnRef')?.['fields']);
  if (fields.length === 0) return [];
  const star = fieldsOf(fields.at(-1), 'A_Star') !== undefined;
  const names = namesOf(star ? fields.slice(0, -1) : fields);
  if (names === undefined) return [];
  const column = star ? undefined : names.at(-1);
  const alias = star ? names.at(-1) : names.at(-2);
  const candidates = [...relations].filter(([name]) => alias === undefined || name === alias);
  const ids = candidates.flatMap(([name, { columns }]) =>
    columns.filter((candidate) => column === undefined || candidate.name === column).map((candidate) => idOf(name, candidate.name)),
  );
  return star || ids.length === 1 ? ids : [];
}

function referencesIn(trees: readonly unknown[], relations: Relations): ReadonlySet<string> {
  const references = new Set<string>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit);
    if (!isTree(node)) return;
    for (const id of resolveColumn(node, relations)) references.add(id);
    Object.values(node).forEach(visit);
  };
  trees.forEach(visit);
  return references;
}
