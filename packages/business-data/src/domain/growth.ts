import { Refusal } from './refusal.ts';
import { fieldsOf, isTree, listOf, type Tree, textOf } from './tree.ts';

const longestCount = 10_000;
const mostOfAll = 1_000_000;

type Factor = (name: string, args: readonly unknown[]) => number;

/** How many times as long as its argument a function's result may become. What joins, splits or turns text is not here: it adds. */
const factors: ReadonlyMap<string, Factor> = new Map<string, Factor>([
  ...['repeat', 'lpad', 'rpad'].map((name) => [name, countAt(1)] as const),
  ...['replace', 'array_replace'].map((name) => [name, (_: string, args: readonly unknown[]) => lengthAt(name, args, 2)] as const),
  // An empty match stands between any two characters; \1 and \& take two characters to give back one text.
  ['regexp_replace', (name, args) => 1 + lengthAt(name, args, 2)],
  ['overlay', (name, args) => 1 + lengthAt(name, args, 1)],
  ['array_to_string', (name, args) => 1 + lengthAt(name, args, 1) + (args[2] === undefined ? 0 : lengthAt(name, args, 2))],
]);

/**
 * Keeps text from growing without limit: a count must be a literal, or `least(..., literal)`, what is put in place of something a
 * literal, or `left(..., literal)`, and the product of all of a statement stays bounded, since one call may work on another's result.
 */
export function createGrowthGuard(): (name: string, call: Tree) => void {
  let product = 1;
  return (name, call) => {
    const factor = factors.get(name);
    if (factor === undefined) return;
    product *= Math.max(1, factor(name, listOf(call['args'])));
    if (product > mostOfAll) throw new Refusal(`The text built by ${name}() and its kin in this statement may become too long.`);
  };
}

function countAt(place: number): Factor {
  return (name, args) => {
    const count = boundOf(args[place]);
    if (count === undefined || count > longestCount)
      throw new Refusal(`The length given to ${name}() must be a number up to ${longestCount}, or least(length, number).`);
    return count;
  };
}

function lengthAt(name: string, args: readonly unknown[], place: number): number {
  const length = args[place] === undefined ? 0 : lengthOf(args[place]);
  if (length === undefined) throw new Refusal(`What ${name}() puts in must be a literal, or left(text, number).`);
  return length;
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

/** As text, at most. */
function lengthOf(node: unknown): number | undefined {
  const cast = fieldsOf(node, 'TypeCast');
  if (cast) return typeLengthens(cast) ? undefined : lengthOf(cast['arg']);
  const constant = fieldsOf(node, 'A_Const');
  if (constant) return lengthOfConstant(constant);
  const call = fieldsOf(node, 'FuncCall');
  const name = textOf(fieldsOf(listOf(call?.['funcname']).at(-1), 'String')?.['sval']);
  if (name === 'chr') return 1;
  const most = name === 'left' ? integerOf(listOf(call?.['args'])[1]) : undefined;
  return most !== undefined && most >= 0 ? most : undefined;
}

/** Six characters may be a number of a hundred thousand digits. */
const withExponent = /^\s*[-+]?[\d._]+e/i;
/** No whole number, truth value or null is written longer. */
const longestOther = 20;

function lengthOfConstant({ sval, fval, bsval }: Tree): number | undefined {
  if (bsval !== undefined) return undefined;
  const written = isTree(sval) ? (textOf(sval['sval']) ?? '') : isTree(fval) ? textOf(fval['fval']) : undefined;
  if (written === undefined) return longestOther;
  return withExponent.test(written) ? undefined : written.length;
}

/** `'a'::char(1000)` is a thousand characters long. */
function typeLengthens({ typeName }: Tree): boolean {
  const names = isTree(typeName) ? listOf(typeName['names']) : [];
  const name = textOf(fieldsOf(names.at(-1), 'String')?.['sval']);
  return name !== 'text' && name !== 'varchar';
}
