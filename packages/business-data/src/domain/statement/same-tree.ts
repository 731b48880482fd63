import { isPosition } from './grammar.ts';
import { isTree, type Tree } from './tree.ts';

/** Whether two parse trees mean the same statement: equal but for positions in the text. */
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
