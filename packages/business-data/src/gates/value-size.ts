import { Refusal } from '../failure.ts';
import { fieldsOf, isTree, listOf, stringNode, type Tree, textOf } from './tree.ts';

/** Nominal length of a cell, and of a number. */
export const cellSize = 20;

const longestCount = 10_000;
const longestValue = 1_000_000;
const longestRow = 10 * longestValue;
/** A value that an aggregate keeps for every row; a row of two hundred columns fits. */
const longestKept = 5_000;
/** Assumed size of a recursive query's columns before a step: large beside what a step adds, small beside a second copy. */
export const startingSize = 10_000;
const expectedSteps = 10;

interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  /** Estimated sizes of the arguments. */
  readonly sizes: readonly number[];
  readonly bounds: Bounds;
}

type Size = (call: Call) => number;

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);
const times =
  (factor: number): Size =>
  ({ sizes }) =>
    factor * sum(sizes);
const timesFirst =
  (factor: (call: Call) => number): Size =>
  (call) =>
    Math.ceil(factor(call) * Math.max(1, call.sizes[0] ?? 1));

/** How long a function's result may become. One that is not here joins, splits or turns its arguments: their sum. */
const resultSizes: ReadonlyMap<string, Size> = new Map<string, Size>([
  ['repeat', timesFirst((call) => countAt(call, 1))],
  ...['lpad', 'rpad'].map((name): [string, Size] => [name, (call) => countAt(call, 1)]),
  ['replace', timesFirst((call) => Math.max(1, lengthAt(call, 2) / Math.max(1, lengthOf(call.args[1]) ?? 1)))],
  ['array_replace', timesFirst(({ name, args }) => Math.max(1, requireLength(name, args[2])))],
  // An empty match stands between any two characters; \\1 and \\& take two characters to give back one text.
  ['regexp_replace', timesFirst((call) => 1 + lengthAt(call, 2))],
  ['overlay', timesFirst((call) => 1 + lengthAt(call, 1))],
  ['array_to_string', timesFirst((call) => 1 + lengthAt(call, 1) + lengthAt(call, 2))],
  ['concat_ws', ({ sizes: [separator = 0, ...rest] }) => sum(rest) + Math.max(0, rest.length - 1) * separator],
  ['format', sizeOfFormat],
  ['ts_headline', sizeOfHeadline],
  // Quotes and backslashes double each time.
  ...['quote_literal', 'quote_nullable', 'quote_ident'].map((name): [string, Size] => [name, times(2)]),
  ...['encode', 'to_char', 'normalize'].map((name): [string, Size] => [name, times(4)]),
  // Each line is indented by the depth of its nesting.
  ['jsonb_pretty', ({ sizes }) => sum(sizes) ** 2],
  ...['length', 'char_length', 'octet_length', 'count', 'md5', 'strpos', 'position'].map((name): [string, Size] => [name, () => cellSize]),
]);

const accumulating = new Set(
  'string_agg array_agg json_agg jsonb_agg json_agg_strict jsonb_agg_strict json_object_agg jsonb_object_agg range_agg'.split(' '),
);

/**
 * The estimated length of a call's result; refuses what may take the memory of the database. Columns have any length, so that a count, and a
 * text that is put in place of others, gets a bound unless it is a literal or has one.
 */
export function sizeOfCall(name: string, call: Tree, sizes: readonly number[], bounds: Bounds): number {
  requireBoundedWork(name, sizes);
  if (call['func_variadic'] === true && name === 'concat_ws') requireShortSeparator(call);
  const args = listOf(call['args']);
  if (name.startsWith('jsonb_path_')) return sizeOfPath(args[1], sizes[0] ?? 1);
  const size = resultSizes.get(name)?.({ name, args, sizes, bounds }) ?? sum(sizes);
  return longest(`${name}()`, size);
}

function requireShortSeparator(call: Tree): void {
  if ((lengthOf(listOf(call['args'])[0]) ?? longestValue) > cellSize)
    throw new Refusal(`The separator of concat_ws() with VARIADIC may become too long: write a literal of at most ${cellSize} characters.`);
}

const longestPath = 1_000;

/** A path gives an item once for each subscript that names it, and `**` once for each level above it. */
export function sizeOfPath(path: unknown, size: number): number {
  const cast = fieldsOf(path, 'TypeCast');
  const text = literalOf(cast ? cast['arg'] : path);
  if (text === undefined) throw new Refusal('A JSON path must be a literal.');
  if (text.length > longestPath) throw new Refusal(`A JSON path is too long: write at most ${longestPath} characters.`);
  const [commas, subscripts, levels] = [',', '[', '**'].map((mark) => text.split(mark).length - 1) as [number, number, number];
  // Commas give the largest product where each pair of brackets has as many of them.
  const repeated = subscripts === 0 ? 1 : (1 + commas / subscripts) ** subscripts;
  return longest('a JSON path', Math.max(1, size) ** (1 + levels) * repeated);
}

/** PostgreSQL does not interrupt these: each character of the first argument is compared with all of the second. */
const comparing = new Set('translate ltrim rtrim btrim strpos position replace split_part string_to_array string_to_table'.split(' '));
const mostComparisons = 100_000_000;
const longestNormalized = 10_000;

function requireBoundedWork(name: string, [first = 0, second = 0]: readonly number[]): void {
  if (comparing.has(name)) requireBoundedComparison(`${name}()`, first, second);
  if ((name === 'normalize' || name === 'is_normalized') && first > longestNormalized)
    throw new Refusal(`The text given to ${name}() may become too long, more than ${longestNormalized} characters.`);
}

/** Keeps work that cannot be interrupted under a second. */
export function requireBoundedComparison(what: string, left: number, right: number): void {
  if (left * right > mostComparisons) throw new Refusal(`The values compared by ${what} may become too long.`);
}

const mostCollected = 15_000;
const mostComputed = 8;
const longestComputed = 1_000;

/** The values that all aggregates of one statement keep for every row. */
export class Collection {
  #total = 0;

  get any(): boolean {
    return this.#total > 0;
  }

  #computed = 0;

  add(what: string, size: number, values: readonly unknown[]): void {
    requireAggregable(size, what);
    this.#total += Math.max(size, cellSize);
    if (this.#total > mostCollected) throw new Refusal('The values collected by all aggregates together may become too long.');
    if (values.length === 0 || values.every(isPlain)) return;
    this.#computed += 1;
    if (this.#computed > mostComputed)
      throw new Refusal(`A statement can collect at most ${mostComputed} computed values; the rows collected become too long.`);
    if (size > longestComputed && values.some(isText))
      throw new Refusal(`The computed values collected by ${what} may become too long, more than ${longestComputed} characters each.`);
  }
}

const isPlain = (node: unknown): boolean => {
  const cast = fieldsOf(node, 'TypeCast');
  return cast ? isPlain(cast['arg']) : isTree(node) && ('ColumnRef' in node || 'A_Const' in node);
};

/** Not an object, an array or a row, which may have many columns. */
const isText = (node: unknown): boolean => {
  const name = textOf(fieldsOf(listOf(fieldsOf(node, 'FuncCall')?.['funcname']).at(-1), 'String')?.['sval']);
  return name === undefined ? fieldsOf(node, 'A_Expr') !== undefined : !/^(jsonb?_|to_jsonb?$|row_to_json$|array_)/.test(name);
};

export const isAccumulating = (name: string): boolean => accumulating.has(name);

/** Refuses a value that may become too long. */
export function longest(what: string, size: number): number {
  if (size > longestValue) throw new Refusal(`The value built by ${what} may become too long, more than ${longestValue} characters.`);
  return size;
}

/** Size of the result for built-in types, which only `||` joins. */
export const sizeOfArithmetic = (left: number, right: number): number => Math.max(left, right) + Math.min(left, right, cellSize);

/** An aggregate keeps every value, of as many rows as there are. */
function requireAggregable(size: number, what: string): void {
  if (size > longestKept)
    throw new Refusal(`The values collected by ${what} may become too long, more than ${longestKept} characters each.`);
}

/** The rows of all queries of one statement, which may all be in memory at once. */
export class RowTotal {
  #total = 0;

  add(size: number): void {
    this.#total += size;
    if (this.#total > longestRow)
      throw new Refusal(`The rows built by this statement may become too long, more than ${longestRow} characters together.`);
  }
}

/** A recursive query may add to a value at each step, but not double it. */
export function requireBoundedStep(name: string, size: number): void {
  if (size >= 2 * startingSize)
    throw new Refusal(`The values of the recursive query "${name}" may become too long: they double at each step.`);
}

export const sizeAfterSteps = (first: number, afterOne: number): number => first + expectedSteps * Math.max(0, afterOne - startingSize);

export function sizeOfConstant(constant: Tree): number {
  return Math.max(1, lengthOfConstant(constant) ?? (isTree(constant['fval']) ? longestNumber : bitsOf(constant)));
}

const bitsOf = ({ bsval }: Tree): number => (isTree(bsval) ? (textOf(bsval['bsval'])?.length ?? 0) * 4 : cellSize);

/** Types that fill a value up to their length. */
const padded = new Set(['bpchar', 'char', 'bit']);

/** `'a'::char(1000)` is a thousand characters long; a row or an array doubles its quotes as text. */
export function sizeOfCast({ arg, typeName }: Tree, size: number): number {
  if (!isTree(typeName)) return size;
  const name = typeNameOf(typeName);
  const length = padded.has(name) ? (integerOf(listOf(typeName['typmods'])[0]) ?? 1) : 0;
  const elements = listOf(typeName['arrayBounds']).length > 0 ? Math.max(1, size) : 1;
  const doubled = textual.has(name) && fieldsOf(arg, 'A_Const') === undefined ? 2 * size : size;
  return longest(`a cast to ${name}`, Math.max(doubled, length * elements));
}

const textual = new Set(['text', 'varchar', 'bpchar', 'char', 'json', 'jsonb']);

/** Refuses a type that fills values up to a great length. */
export function requireBoundedType(typeName: Tree): void {
  const modifiers = listOf(typeName['typmods']).map(integerOf);
  if (modifiers.some((modifier) => modifier === undefined)) throw new Refusal('The length of a type must be a number.');
  const name = typeNameOf(typeName);
  if (padded.has(name) && modifiers.some((length) => length !== undefined && length > longestCount))
    throw new Refusal(`A value of type ${name === 'bpchar' ? 'char' : name} of this length is too long: write at most ${longestCount}.`);
}

const typeNameOf = (typeName: Tree): string => textOf(fieldsOf(listOf(typeName['names']).at(-1), 'String')?.['sval']) ?? '';

/** `%s`, `%2$s`, `%-20s`, `%1$*2$s`: position, flags, width (a number, or an argument) and type. */
const specifier = /%(?:(\d+)\$)?-*(\*(?:\d+\$)?|\d+)?[^%]/g;

function sizeOfFormat({ args: [template], sizes: [own = 0, ...rest] }: Call): number {
  const text = literalOf(template);
  if (text === undefined) throw new Refusal('The first argument of format() must be a literal.');
  let widths = 0;
  let next = 0;
  let most = 1;
  const uses = new Map<number, number>();
  for (const [, position, width] of text.replaceAll('%%', '').matchAll(specifier)) {
    if (width?.startsWith('*')) throw new Refusal('A width in format() must be a number, not an argument.');
    widths += Number(width ?? 0);
    next = position === undefined ? next + 1 : Number(position);
    const count = (uses.get(next) ?? 0) + 1;
    uses.set(next, count);
    most = Math.max(most, count);
  }
  if (widths > longestCount) throw new Refusal(`The widths in format() must add up to at most ${longestCount}.`);
  return own + widths + most * 2 * sum(rest);
}

/** Its options, the last argument, hold what is put around each word that is found. */
function sizeOfHeadline({ args, sizes }: Call): number {
  if (args.length > 3 && literalOf(args[3]) === undefined) throw new Refusal('The options of ts_headline() must be a literal.');
  return sum(sizes) * (1 + (sizes.at(-1) ?? 0));
}

/** The text of a string literal, or of one that is cast to text. */
function literalOf(node: unknown): string | undefined {
  const cast = fieldsOf(node, 'TypeCast');
  if (cast) return typeLengthens(cast) ? undefined : literalOf(cast['arg']);
  const value = fieldsOf(node, 'A_Const')?.['sval'];
  return isTree(value) ? (textOf(value['sval']) ?? '') : undefined;
}

function countAt({ name, args, bounds }: Call, position: number): number {
  const count = boundOf(args[position]) ?? bounds.limitCount(args[position]);
  if (count > longestCount) throw new Refusal(`The length given to ${name}() must be at most ${longestCount}.`);
  return Math.max(1, count);
}

function lengthAt({ args, bounds }: Call, position: number): number {
  const arg = args[position];
  return arg === undefined ? 0 : (lengthOf(arg) ?? bounds.limitText(arg));
}

function requireLength(name: string, arg: unknown): number {
  const length = lengthOf(arg);
  if (length === undefined) throw new Refusal(`The value that ${name}() puts in must be a literal.`);
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
const longestNumber = 131_072 + 16_383;
/** No whole number, truth value or null is written longer. */
const longestOther = 20;

function lengthOfConstant({ sval, fval, bsval }: Tree): number | undefined {
  if (bsval !== undefined) return undefined;
  const written = isTree(sval) ? (textOf(sval['sval']) ?? '') : isTree(fval) ? textOf(fval['fval']) : undefined;
  if (written === undefined) return longestOther;
  return withExponent.test(written) ? undefined : written.length;
}

function typeLengthens({ typeName }: Tree): boolean {
  const name = isTree(typeName) ? typeNameOf(typeName) : '';
  return name !== 'text' && name !== 'varchar';
}

/** Longer than any chart bar, padding, separator or name; a longer value is cut to it. */
const longestBound = 1_000;

/** Arguments of one statement that get a bound, so that a value of any length in a column cannot multiply another one. */
export class Bounds {
  readonly #functions = new Map<unknown, string>();

  /** Returns the bound. A strict function, unlike LEAST: null stays null. */
  limitCount(node: unknown): number {
    this.#functions.set(node, 'int4smaller');
    return longestBound;
  }

  limitText(node: unknown): number {
    this.#functions.set(node, 'left');
    return longestBound;
  }

  /** The statement with its bounds. */
  apply(statement: Tree): Tree {
    return this.#functions.size === 0 ? statement : (this.#limited(statement) as Tree);
  }

  #limited(node: unknown): unknown {
    if (Array.isArray(node)) return node.map((item) => this.#limited(item));
    if (!isTree(node)) return node;
    const copy = Object.fromEntries(Object.entries(node).map(([field, value]) => [field, this.#limited(value)]));
    const name = this.#functions.get(node);
    return name === undefined ? copy : callOf(name, copy);
  }
}

const callOf = (name: string, node: Tree): Tree => ({
  FuncCall: {
    funcname: [stringNode(name)],
    args: [node, { A_Const: { ival: { ival: longestBound } } }],
    funcformat: 'COERCE_EXPLICIT_CALL',
  },
});
