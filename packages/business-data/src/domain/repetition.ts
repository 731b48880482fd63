import { Refusal } from './refusal.ts';
import { fieldsOf, isTree, listOf, type Tree } from './tree.ts';

const repeating = new Set(['repeat', 'lpad', 'rpad']);
const mostOfOne = 10_000;
const mostOfAll = 1_000_000;

/**
 * Keeps text from growing without limit where the length is given as a number: it must be a literal, or `least(..., literal)`,
 * and the product of all of a statement stays bounded, since one call may repeat another's result.
 */
export function createRepetitionGuard(): (name: string, call: Tree) => void {
  let product = 1;
  return (name, call) => {
    if (!repeating.has(name)) return;
    const count = boundOf(listOf(call['args'])[1]);
    if (count === undefined || count > mostOfOne)
      throw new Refusal(`The length given to ${name}() must be a number up to ${mostOfOne}, or least(length, number).`);
    product *= Math.max(1, count);
    if (product > mostOfAll) throw new Refusal('The text built by repeat(), lpad() and rpad() in this statement may become too long.');
  };
}

function boundOf(node: unknown): number | undefined {
  const literal = integerOf(node);
  if (literal !== undefined) return literal;
  const least = fieldsOf(node, 'MinMaxExpr');
  if (least?.['op'] !== 'IS_LEAST') return undefined;
  const bounds = listOf(least['args'])
    .map(integerOf)
    .filter((bound) => bound !== undefined);
  return bounds.length > 0 ? Math.min(...bounds) : undefined;
}

/** Zero is written as an empty object. */
function integerOf(node: unknown): number | undefined {
  const integer = fieldsOf(node, 'A_Const')?.['ival'];
  if (!isTree(integer)) return undefined;
  const value = integer['ival'] ?? 0;
  return typeof value === 'number' ? value : undefined;
}
