import { Refusal } from '../failure.ts';
import { isStored } from './bind-select.ts';
import { grammar } from './grammar.ts';
import { type Binder, type Context, findRelation, requireColumn, requireQualified, rowSize } from './namespace.ts';
import { fieldsOf, isTree, listOf, namesOf, type Tree, textOf } from './tree.ts';
import {
  isAccumulating,
  requireBoundedComparison,
  requireShortQuery,
  requireValueLength,
  sizeOfArithmetic,
  sizeOfCall,
  sizeOfCast,
  sizeOfConstant,
  sizeOfPath,
} from './value-size.ts';

type Bind = (fields: Tree, context: Context, binder: Binder) => number;

/** Binds every name in an expression, and estimates how long its value may be. */
export function bindExpression(node: unknown, context: Context, binder: Binder): number {
  let size = 0;
  if (Array.isArray(node)) {
    for (const item of node) size = Math.max(size, bindExpression(item, context, binder));
    return size;
  }
  if (!isTree(node)) return 0;
  for (const field in node) {
    const value = node[field];
    if (typeof value !== 'object') continue;
    size = Math.max(size, isKind(field) ? bindKind(field, value, context, binder) : bindExpression(value, context, binder));
  }
  return size;
}

/** Node kinds are written with a capital letter, fields without. */
const isKind = (field: string): boolean => field.charCodeAt(0) < 91;

function bindKind(kind: string, fields: unknown, context: Context, binder: Binder): number {
  if (!isTree(fields)) throw notAnExpression(kind);
  const special = kinds.get(kind);
  if (special) return special(fields, context, binder);
  if (outsideExpressions.has(kind) || !grammar.has(kind)) throw notAnExpression(kind);
  return bindExpression(fields, context, binder);
}

const notAnExpression = (kind: string) =>
  new Refusal(`${kind} cannot be used in an expression. Use columns, constants, functions, operators, CASE or a subquery in parentheses.`);

/** Kinds that are bound by their parents and not allowed in expressions. */
const outsideExpressions = new Set([
  'WithClause',
  'CommonTableExpr',
  'RangeVar',
  'RangeSubselect',
  'RangeFunction',
  'RangeTableSample',
  'JoinExpr',
  'JsonTable',
  'JsonTableColumn',
  'ColumnDef',
  'ResTarget',
]);

const kinds = new Map<string, Bind>([
  ['ColumnRef', bindColumn],
  ['A_Indirection', bindIndirection],
  ['SelectStmt', (fields, context, binder) => rowSize(binder.select(fields, context))],
  ['SubLink', bindSublink],
  ['WindowDef', bindWindow],
  ['FuncCall', bindCall],
  ['A_Const', sizeOfConstant],
  ['TypeCast', (fields, context, binder) => sizeOfCast(fields, bindExpression(fields['arg'], context, binder))],
  ['A_Expr', bindOperator],
  ['RowExpr', ({ args }, context, binder) => sumOf(args, context, binder)],
  ['A_ArrayExpr', ({ elements }, context, binder) => sumOf(elements, context, binder)],
  ['JsonObjectConstructor', ({ exprs }, context, binder) => sumOf(exprs, context, binder)],
  ['JsonArrayConstructor', ({ exprs }, context, binder) => sumOf(exprs, context, binder)],
  ['JsonKeyValue', ({ key, value }, context, binder) => bindExpression(key, context, binder) + bindExpression(value, context, binder)],
  ['JsonArrayQueryConstructor', bindAggregate],
  ['JsonArrayAgg', bindAggregate],
  ['JsonFuncExpr', (fields, context, binder) => sizeOfPath(fields['pathspec'], bindExpression(fields, context, binder))],
  ['JsonObjectAgg', bindAggregate],
]);

function sumOf(list: unknown, context: Context, binder: Binder): number {
  return listOf(list).reduce<number>((sum, item) => sum + bindExpression(item, context, binder), 0);
}

/** A column of a visible relation, or a whole row. PostgreSQL could interpret any other name as a function or type. */
function bindColumn({ fields }: Tree, { namespace }: Context): number {
  const list = listOf(fields);
  const star = fieldsOf(list.at(-1), 'A_Star') !== undefined;
  const [first, second, ...more] = namesOf(star ? list.slice(0, -1) : list) ?? [''];
  if (more.length > 0 || (star && second !== undefined)) throw new Refusal(`There is no table "${first}.${second}" in FROM here.`);
  if (first === undefined) return 0;
  if (second !== undefined) return requireQualified(namespace, first, second).size;
  if (!star) return requireColumn(namespace, first).size;
  const relation = findRelation(namespace, first);
  if (relation === undefined) throw new Refusal(`There is no table "${first}" in FROM here.`);
  return rowSize(relation.columns);
}

function bindIndirection({ arg, indirection }: Tree, context: Context, binder: Binder): number {
  for (const step of listOf(indirection)) {
    if (fieldsOf(step, 'A_Indices') === undefined)
      throw new Refusal(
        `The field (...).${textOf(fieldsOf(step, 'String')?.['sval']) ?? '*'} of a value is not available here: compute the value in FROM and name its column.`,
      );
  }
  bindExpression(indirection, context, binder);
  return bindExpression(arg, context, binder);
}

const accumulating = new Set(['EXPR_SUBLINK', 'ARRAY_SUBLINK']);

function bindSublink({ subLinkType, testexpr, subselect }: Tree, context: Context, binder: Binder): number {
  bindExpression(testexpr, context, binder);
  const size = bindExpression(subselect, context, binder);
  if (subLinkType === 'ARRAY_SUBLINK') binder.collection.add('ARRAY(SELECT ...)', size, []);
  return accumulating.has(String(subLinkType)) ? size : 1;
}

/** Also called for the window of a call, which is not wrapped in its kind. */
function bindWindow(fields: Tree, context: Context, binder: Binder): number {
  for (const name of [fields['refname'], fields['name']])
    if (typeof name === 'string' && !context.windows.has(name)) throw new Refusal(`There is no window "${name}" here.`);
  const { partitionClause, orderClause, startOffset, endOffset } = fields;
  return bindExpression([partitionClause, orderClause, startOffset, endOffset], context, binder);
}

function bindCall(call: Tree, context: Context, binder: Binder): number {
  const { args, over, agg_order: order, agg_filter: filter } = call;
  if (isTree(over)) bindWindow(over, context, binder);
  bindExpression([order, filter], context, binder);
  const sizes = listOf(args).map((argument) => bindExpression(argument, context, binder));
  const name = namesOf(call['funcname'])?.at(-1) ?? '';
  if (isAccumulating(name)) {
    const total = sizes.reduce((sum, size) => sum + size, 0);
    binder.collection.add(`${name}()`, total, listOf(args));
  }
  return sizeOfCall(name, call, sizes, binder.bounds);
}

function bindAggregate(fields: Tree, context: Context, binder: Binder): number {
  const size = bindExpression(fields, context, binder);
  binder.collection.add('a JSON aggregate', size, []);
  return size;
}

const comparing = new Set('= <> != < > <= >= ~~ !~~ ~~* !~~* ~* !~ !~* ^@ @> <@ ? ?| ?& @? @@ && <-> -|- <<= >>='.split(' '));

/** Operators that compare each part of one side with all parts of the other, and cannot be interrupted. */
const matching = new Set('~~ !~~ ~~* !~~* @> <@ && ?| ?& -'.split(' '));

const containing = new Set(['&&', '@>', '<@']);

/** True when the value does not contain values that an aggregate collected. */
function isBounded(node: unknown, context: Context): boolean {
  const cast = fieldsOf(node, 'TypeCast');
  if (cast) return isBounded(cast['arg'], context);
  if (fieldsOf(node, 'A_Const') || isStored(node, context)) return true;
  const call = fieldsOf(node, 'FuncCall');
  if (call && isAccumulating(namesOf(call['funcname'])?.at(-1) ?? '')) return false;
  const parts = call?.['args'] ?? fieldsOf(node, 'A_ArrayExpr')?.['elements'];
  return parts !== undefined && listOf(parts).every((part) => isBounded(part, context));
}

/** A text that PostgreSQL may read as a JSON path. */
const isText = (node: unknown): boolean => isTree(fieldsOf(node, 'A_Const')?.['sval']);

function bindOperator({ kind, name, lexpr, rexpr }: Tree, context: Context, binder: Binder): number {
  const [left, right] = [bindExpression(lexpr, context, binder), bindExpression(rexpr, context, binder)];
  const operator = namesOf(name)?.at(-1) ?? '';
  // The type may be a domain over a geometric type, whose operators cannot be stopped, and whose `+` makes it longer.
  if (operator === '<->' && binder.mayBeComposite()) throw new Refusal('The operator <-> is not available here.');
  if (operator === '@?' || (operator === '@@' && (isText(rexpr) || binder.mayBeJsonpath()))) sizeOfPath(rexpr, left);
  if (operator === '@@') requireShortQuery(operator, right);
  if (matching.has(operator)) requireBoundedComparison(operator, left, right);
  if (containing.has(operator) && binder.collection.isUsed && ![lexpr, rexpr].some((side) => isBounded(side, context)))
    throw new Refusal(`One side of ${operator} must be a column of a table or a literal: collected values may become too long.`);
  if (kind !== 'AEXPR_OP' || comparing.has(operator)) return Math.max(left, right);
  if (operator === '||' || binder.mayBeComposite()) return requireValueLength(operator, left + right);
  return sizeOfArithmetic(left, right);
}
