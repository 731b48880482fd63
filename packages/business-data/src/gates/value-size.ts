import { Refusal } from '../failure.ts';
import { fieldsOf, isTree, listOf, stringNode, type Tree, textOf } from './tree.ts';

/** Assumed length of a stored value, and of a number. */
export const cellSize = 20;

/** Limits in characters: of a repetition or padding, of a value, of the rows of all queries together, of a value collected for every row. */
const maxCount = 10_000;
const maxValueLength = 1_000_000;
const maxRowsLength = 10 * maxValueLength;
const maxCollectedLength = 5_000;
/** Assumed size of a recursive query's columns before a step: larger than what a step may add, smaller than a second copy. */
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

/** The maximal length of a function's result; of functions that are not listed, the sum of their arguments. */
const resultSizes: ReadonlyMap<string, Size> = new Map<string, Size>([
  ['repeat', timesFirst((call) => countAt(call, 1))],
  ...['lpad', 'rpad'].map((name): [string, Size] => [name, (call) => countAt(call, 1)]),
  ['replace', timesFirst((call) => Math.max(1, lengthAt(call, 2) / Math.max(1, lengthOf(call.args[1]) ?? 1)))],
  ['array_replace', timesFirst(({ name, args }) => Math.max(1, requireLength(name, args[2])))],
  // There is an empty match between any two characters; \\1 and \\& are two characters that insert a whole text.
  ['regexp_replace', timesFirst((call) => 1 + lengthAt(call, 2))],
  ['overlay', timesFirst((call) => 1 + lengthAt(call, 1))],
  ['array_to_string', timesFirst((call) => 1 + lengthAt(call, 1) + lengthAt(call, 2))],
  ['concat_ws', ({ sizes: [separator = 0, ...rest] }) => sum(rest) + Math.max(0, rest.length - 1) * separator],
  ['format', sizeOfFormat],
  ['ts_headline', sizeOfHeadline],
  // Each word has quotes and an operator, and a word with a hyphen is followed by its parts.
  ...['to_tsquery', 'plainto_tsquery', 'phraseto_tsquery', 'websearch_to_tsquery'].map((name): [string, Size] => [
    name,
    (call) => 5 * lengthAt(call, call.args.length - 1),
  ]),
  // Quotes and backslashes are doubled.
  ...['quote_literal', 'quote_nullable', 'quote_ident'].map((name): [string, Size] => [name, times(2)]),
  ...['encode', 'to_char', 'normalize'].map((name): [string, Size] => [name, times(4)]),
  // Each line is indented by its nesting.
  ['jsonb_pretty', ({ sizes }) => sum(sizes) ** 2],
  ...['length', 'char_length', 'octet_length', 'count', 'md5', 'strpos', 'position'].map((name): [string, Size] => [name, () => cellSize]),
]);

const accumulating = new Set(
  'string_agg array_agg json_agg jsonb_agg json_agg_strict jsonb_agg_strict json_object_agg jsonb_object_agg range_agg'.split(' '),
);

/**
 * The estimated length of a call's result. Refuses results that could fill the memory of the database. A stored value may have any length, so
 * a count or an inserted text gets a bound unless it is a literal or has a bound.
 */
export function sizeOfCall(name: string, call: Tree, sizes: readonly number[], bounds: Bounds): number {
  requireBoundedWork(name, sizes);
  if (call['func_variadic'] === true && name === 'concat_ws') requireShortSeparator(call);
  const args = listOf(call['args']);
  if (name.startsWith('jsonb_path_')) return sizeOfPath(args[1], sizes[0] ?? 1);
  const size = resultSizes.get(name)?.({ name, args, sizes, bounds }) ?? sum(sizes);
  return requireValueLength(`${name}()`, size);
}

function requireShortSeparator(call: Tree): void {
  if ((lengthOf(listOf(call['args'])[0]) ?? maxValueLength) > cellSize)
    throw new Refusal(`The separator of concat_ws() with VARIADIC may become too long: write a literal of at most ${cellSize} characters.`);
}

const maxPathLength = 1_000;

/** A JSON path returns an item once for each subscript that names it, and with `**` once for each level above it. */
export function sizeOfPath(path: unknown, size: number): number {
  const cast = fieldsOf(path, 'TypeCast');
  const text = literalOf(cast ? cast['arg'] : path);
  if (text === undefined) throw new Refusal('A JSON path must be a literal.');
  if (text.length > maxPathLength) throw new Refusal(`A JSON path is too long: write at most ${maxPathLength} characters.`);
  const [commas, subscripts, levels] = [',', '[', '**'].map((mark) => text.split(mark).length - 1) as [number, number, number];
  // The product is largest when the commas are spread evenly over the brackets.
  const repeated = subscripts === 0 ? 1 : (1 + commas / subscripts) ** subscripts;
  return requireValueLength('a JSON path', Math.max(1, size) ** (1 + levels) * repeated);
}

/** PostgreSQL cannot interrupt these functions, which compare each character of the first argument with all of the second. */
const comparing = new Set('translate ltrim rtrim btrim strpos position replace split_part string_to_array string_to_table'.split(' '));
const maxComparisons = 100_000_000;
const maxNormalizedLength = 10_000;

function requireBoundedWork(name: string, [first = 0, second = 0]: readonly number[]): void {
  if (comparing.has(name)) requireBoundedComparison(`${name}()`, first, second);
  if ((name === 'normalize' || name === 'is_normalized') && first > maxNormalizedLength)
    throw new Refusal(`The text given to ${name}() may become too long, more than ${maxNormalizedLength} characters.`);
}

/** Keeps work that cannot be interrupted below a second. */
export function requireBoundedComparison(what: string, left: number, right: number): void {
  if (left * right > maxComparisons) throw new Refusal(`The values compared by ${what} may become too long.`);
}

/** Characters of a text that becomes a tsquery: the time grows with the square of its words. */
const maxQueryLength = 25_000;

/** Bounds a text that PostgreSQL reads as a tsquery, which it cannot interrupt. The functions that do so cut their text. */
export function requireShortQuery(what: string, size: number): void {
  if (size > maxQueryLength)
    throw new Refusal(`The text that ${what} reads as a query may become too long, more than ${maxQueryLength} characters.`);
}

const maxCollectedTotal = 15_000;
const maxComputed = 8;
const maxComputedLength = 1_000;

/** The values that all aggregates of one statement collect for every row. */
export class Collection {
  #total = 0;

  get isUsed(): boolean {
    return this.#total > 0;
  }

  #computed = 0;

  add(what: string, size: number, values: readonly unknown[]): void {
    requireAggregable(size, what);
    this.#total += Math.max(size, cellSize);
    if (this.#total > maxCollectedTotal) throw new Refusal('The values collected by all aggregates together may become too long.');
    if (values.length === 0 || values.every(isPlain)) return;
    this.#computed += 1;
    if (this.#computed > maxComputed)
      throw new Refusal(`A statement can collect at most ${maxComputed} computed values; the rows collected become too long.`);
    if (size > maxComputedLength && values.some(isText))
      throw new Refusal(`The computed values collected by ${what} may become too long, more than ${maxComputedLength} characters each.`);
  }
}

const isPlain = (node: unknown): boolean => {
  const cast = fieldsOf(node, 'TypeCast');
  return cast ? isPlain(cast['arg']) : isTree(node) && ('ColumnRef' in node || 'A_Const' in node);
};

/** True for a text, unlike an object, an array or a row, which may have many columns. */
const isText = (node: unknown): boolean => {
  const name = textOf(fieldsOf(listOf(fieldsOf(node, 'FuncCall')?.['funcname']).at(-1), 'String')?.['sval']);
  return name === undefined ? fieldsOf(node, 'A_Expr') !== undefined : !/^(jsonb?_|to_jsonb?$|row_to_json$|array_)/.test(name);
};

export const isAccumulating = (name: string): boolean => accumulating.has(name);

/** Refuses a value that may become too long, and returns its length otherwise. */
export function requireValueLength(what: string, size: number): number {
  if (size > maxValueLength) throw new Refusal(`The value built by ${what} may become too long, more than ${maxValueLength} characters.`);
  return size;
}

/** Size of the result of an operator of built-in types other than `||`. */
export const sizeOfArithmetic = (left: number, right: number): number => Math.max(left, right) + Math.min(left, right, cellSize);

/** An aggregate collects a value for each of any number of rows. */
function requireAggregable(size: number, what: string): void {
  if (size > maxCollectedLength)
    throw new Refusal(`The values collected by ${what} may become too long, more than ${maxCollectedLength} characters each.`);
}

/** The rows of all queries of one statement, which may be in memory at the same time. */
export class RowTotal {
  #total = 0;

  add(size: number): void {
    this.#total += size;
    if (this.#total > maxRowsLength)
      throw new Refusal(`The rows built by this statement may become too long, more than ${maxRowsLength} characters together.`);
  }
}

/** A recursive query may add to a value at each step, but not double it. */
export function requireBoundedStep(name: string, size: number): void {
  if (size >= 2 * startingSize)
    throw new Refusal(`The values of the recursive query "${name}" may become too long: they double at each step.`);
}

export const sizeAfterSteps = (first: number, afterOne: number): number => first + expectedSteps * Math.max(0, afterOne - startingSize);

export function sizeOfConstant(constant: Tree): number {
  return Math.max(1, isTree(constant['bsval']) ? bitsOf(constant['bsval']) : lengthInFull(writtenConstant(constant)));
}

const bitsOf = ({ bsval }: Tree): number => (textOf(bsval)?.length ?? 0) * 4;

/** The length of a constant, whose numbers may be shown without their exponents. */
function lengthInFull(written: string | undefined): number {
  if (written === undefined) return maxOtherLength;
  const exponents = [...written.matchAll(withExponent)].map(([, exponent = '']) => Math.abs(Number(exponent.replaceAll('_', ''))));
  return written.length + sum(exponents.map((digits) => Math.min(maxNumberLength, digits)));
}

/** Types that fill a value up to their length. */
const padded = new Set(['bpchar', 'char', 'bit']);

/** `'a'::char(1000)` has a thousand characters; the quotes of a row or an array are doubled in its text. */
export function sizeOfCast({ arg, typeName }: Tree, size: number): number {
  if (!isTree(typeName)) return size;
  const name = typeNameOf(typeName);
  if (name === 'tsquery') requireShortQuery('a cast to tsquery', size);
  const length = padded.has(name) ? (integerOf(listOf(typeName['typmods'])[0]) ?? 1) : 0;
  const elements = listOf(typeName['arrayBounds']).length > 0 ? Math.max(1, size) : 1;
  const doubled = textual.has(name) && fieldsOf(arg, 'A_Const') === undefined ? 2 * size : size;
  return requireValueLength(`a cast to ${name}`, Math.max(doubled, length * elements));
}

const textual = new Set(['text', 'varchar', 'bpchar', 'char', 'json', 'jsonb']);

/** Refuses a type that fills values up to a great length. */
export function requireBoundedType(typeName: Tree): void {
  const modifiers = listOf(typeName['typmods']).map(integerOf);
  if (modifiers.some((modifier) => modifier === undefined)) throw new Refusal('The length of a type must be a number.');
  const name = typeNameOf(typeName);
  if (padded.has(name) && modifiers.some((length) => length !== undefined && length > maxCount))
    throw new Refusal(`A value of type ${name === 'bpchar' ? 'char' : name} of this length is too long: write at most ${maxCount}.`);
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
  if (widths > maxCount) throw new Refusal(`The widths in format() must add up to at most ${maxCount}.`);
  return own + widths + most * 2 * sum(rest);
}

/** The options, its last argument, have the text that is inserted around each match. */
function sizeOfHeadline({ args, sizes }: Call): number {
  if (args.length > 3 && literalOf(args[3]) === undefined) throw new Refusal('The options of ts_headline() must be a literal.');
  return sum(sizes) * (1 + (sizes.at(-1) ?? 0));
}

/** The text of a string literal, also of one that is cast to text. */
function literalOf(node: unknown): string | undefined {
  const cast = fieldsOf(node, 'TypeCast');
  if (cast) return typeLengthens(cast) ? undefined : literalOf(cast['arg']);
  const value = fieldsOf(node, 'A_Const')?.['sval'];
  return isTree(value) ? (textOf(value['sval']) ?? '') : undefined;
}

function countAt({ name, args, bounds }: Call, position: number): number {
  const count = boundOf(args[position]) ?? bounds.limitCount(args[position]);
  if (count > maxCount) throw new Refusal(`The length given to ${name}() must be at most ${maxCount}.`);
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

/** The maximal length as text; undefined where it is not known. */
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

/** Six characters may be a number of a hundred thousand digits, also in the text of an array, a range or JSON. */
const withExponent = /(?<=^|[\s,:"[({])[-+]?[\d._]+e([-+]?[\d_]+)(?=$|[\s,"\])}])/gi;
const maxNumberLength = 131_072 + 16_383;
/** Length of any whole number, boolean or null. */
const maxOtherLength = 20;

function lengthOfConstant(constant: Tree): number | undefined {
  if (constant['bsval'] !== undefined) return undefined;
  const written = writtenConstant(constant);
  if (written === undefined) return maxOtherLength;
  return written.search(withExponent) < 0 ? written.length : undefined;
}

/** The text of a string or of a number that is not a small integer. */
function writtenConstant({ sval, fval }: Tree): string | undefined {
  if (isTree(sval)) return textOf(sval['sval']) ?? '';
  return isTree(fval) ? textOf(fval['fval']) : undefined;
}

function typeLengthens({ typeName }: Tree): boolean {
  const name = isTree(typeName) ? typeNameOf(typeName) : '';
  return name !== 'text' && name !== 'varchar';
}

/** More than a padding, separator or name needs; longer values are cut to it. */
const boundedLength = 1_000;

/** Arguments of one statement that get a bound, so that a stored value of any length cannot multiply another value. */
export class Bounds {
  readonly #functions = new Map<unknown, string>();

  /** Returns the bound. Unlike LEAST, the function is strict: null stays null. */
  limitCount(node: unknown): number {
    this.#functions.set(node, 'int4smaller');
    return boundedLength;
  }

  limitText(node: unknown): number {
    this.#functions.set(node, 'left');
    return boundedLength;
  }

  /** Returns the statement with its bounds. */
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
    args: [node, { A_Const: { ival: { ival: boundedLength } } }],
    funcformat: 'COERCE_EXPLICIT_CALL',
  },
});
