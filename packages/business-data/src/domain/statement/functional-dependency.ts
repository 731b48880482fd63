import type { ScopedTable } from '../scope.ts';
import { columnNode, fieldsOf, isTree, listOf, namesOf, type Tree, textOf } from './tree.ts';

type Relations = ReadonlyMap<string, ScopedTable>;

/**
 * PostgreSQL lets a query that groups by a table's primary key name the table's other columns too, which it cannot see through a
 * subquery. They are added to GROUP BY here: they depend on the key, so that the groups stay the same.
 */
export function dependentColumns(select: Tree, lookUp: (range: Tree) => ScopedTable | 'ambiguous' | undefined): Tree[] {
  const keys = listOf(select['groupClause']);
  if (keys.length === 0 || keys.some((key) => fieldsOf(key, 'GroupingSet') !== undefined)) return [];
  const relations = relationsIn(listOf(select['fromClause']), lookUp);
  const grouped = new Set(keys.flatMap((key) => resolveColumn(targetOf(key, select), relations)));
  const determined = new Map([...relations].filter(([alias, table]) => isDetermined(alias, table, grouped)));
  if (determined.size === 0) return [];
  const wanted = referencesIn([select['targetList'], select['havingClause'], select['sortClause'], select['windowClause']], relations);
  return [...determined].flatMap(([alias, { columns }]) =>
    columns
      .filter(({ name, groupable }) => groupable && !grouped.has(idOf(alias, name)) && wanted.has(idOf(alias, name)))
      .map(({ name }) => columnNode(alias, name)),
  );
}

const idOf = (alias: string, column: string): string => `${alias}\0${column}`;

const isDetermined = (alias: string, { primaryKey }: ScopedTable, grouped: ReadonlySet<string>): boolean =>
  primaryKey.length > 0 && primaryKey.every((column) => grouped.has(idOf(alias, column)));

/** The tables of this FROM by the name they have in it; whatever renames them hides them. */
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

/** `group by 1` means what the first target is. */
function targetOf(key: unknown, select: Tree): unknown {
  const ordinal = fieldsOf(key, 'A_Const')?.['ival'];
  if (!isTree(ordinal)) return key;
  return fieldsOf(listOf(select['targetList'])[Number(ordinal['ival'] ?? 0) - 1], 'ResTarget')?.['val'];
}

/** The columns of these tables that a reference names: none, one, or with a star all. */
function resolveColumn(node: unknown, relations: Relations): string[] {
  const fields = listOf(fieldsOf(node, 'ColumnRef')?.['fields']);
  if (fields.length === 0) return [];
  const star = fieldsOf(fields.at(-1), 'A_Star') !== undefined;
  const names = namesOf(star ? fields.slice(0, -1) : fields);
  if (names === undefined) return [];
  const column = star ? undefined : names.at(-1);
  const alias = star ? names.at(-1) : names.at(-2);
  const among = [...relations].filter(([name]) => alias === undefined || name === alias);
  const found = among.flatMap(([name, { columns }]) =>
    columns.filter((candidate) => column === undefined || candidate.name === column).map((candidate) => idOf(name, candidate.name)),
  );
  return star || found.length === 1 ? found : [];
}

function referencesIn(trees: readonly unknown[], relations: Relations): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit);
    if (!isTree(node)) return;
    for (const id of resolveColumn(node, relations)) found.add(id);
    Object.values(node).forEach(visit);
  };
  trees.forEach(visit);
  return found;
}
