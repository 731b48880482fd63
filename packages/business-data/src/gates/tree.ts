import { isPosition } from './grammar.ts';

/** A node of PostgreSQL's raw parse tree as JSON: `{ ColumnRef: { fields: [...] } }`. */
export type Tree = { readonly [field: string]: unknown };

export const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The fields of a node if it is of this kind. */
export function fieldsOf(node: unknown, kind: string): Tree | undefined {
  const fields = isTree(node) ? node[kind] : undefined;
  return isTree(fields) ? fields : undefined;
}

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The strings of a list of String nodes; undefined when anything else is among them. */
export function namesOf(list: unknown): readonly string[] | undefined {
  const names = listOf(list).map((item) => textOf(fieldsOf(item, 'String')?.['sval']));
  return names.every((name) => name !== undefined) ? names : undefined;
}

export const stringNode = (sval: string): Tree => ({ String: { sval } });

/** `relation.column`, or only `column`. */
export const columnNode = (...names: readonly string[]): Tree => ({ ColumnRef: { fields: names.map(stringNode) } });

/** The statement of a parse result; undefined unless there is exactly one. */
export function onlyStatement(result: unknown): unknown {
  const statements = isTree(result) ? listOf(result['stmts']) : [];
  return statements.length === 1 && isTree(statements[0]) ? statements[0]['stmt'] : undefined;
}

/** True when two parse trees are equal except for positions in the text. */
export function sameTree(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, index) => sameTree(item, right[index]));
  if (!isTree(left) || !isTree(right)) return left === right;
  return sameFields(left, right);
}

function sameFields(left: Tree, right: Tree): boolean {
  let shared = 0;
  for (const field in left) {
    const value = left[field];
    if (isIgnored(field, value)) continue;
    if (!sameTree(value, right[field])) return false;
    shared += 1;
  }
  for (const field in right) if (!isIgnored(field, right[field])) shared -= 1;
  return shared === 0;
}

/** Positions are numbers, which few other fields are. */
const isIgnored = (field: string, value: unknown): boolean => value === undefined || (typeof value === 'number' && isPosition(field));
