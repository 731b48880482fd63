import type { Columns } from './namespace.ts';
import { fieldsOf, isTree, listOf, type Tree, textOf } from './tree.ts';

/** The columns of a subquery that was bound before. */
type ColumnsOf = (select: unknown) => Columns | undefined;

/** Names of unnamed constructs, as PostgreSQL's FigureColname gives them. */
const ownNames = new Map([
  ['GroupingFunc', 'grouping'],
  ['A_ArrayExpr', 'array'],
  ['RowExpr', 'row'],
  ['CoalesceExpr', 'coalesce'],
  ['JsonObjectConstructor', 'json_object'],
  ['JsonArrayConstructor', 'json_array'],
  ['JsonArrayQueryConstructor', 'json_array'],
  ['JsonObjectAgg', 'json_objectagg'],
  ['JsonArrayAgg', 'json_arrayagg'],
]);

const jsonFunctions = new Map([
  ['JSON_EXISTS_OP', 'json_exists'],
  ['JSON_QUERY_OP', 'json_query'],
  ['JSON_VALUE_OP', 'json_value'],
]);

interface FiguredName {
  readonly name: string;
  /** A name of a type or of CASE: a name inside it is preferred. */
  readonly weak: boolean;
}

const strong = (name: string): FiguredName => ({ name, weak: false });

/** The name of an output column without AS. Empty where it is not known, so that no name refers to it. */
export function outputName(node: unknown, columnsOf: ColumnsOf): string {
  return figure(node, columnsOf)?.name ?? '?column?';
}

function figure(node: unknown, columnsOf: ColumnsOf): FiguredName | undefined {
  const [entry] = isTree(node) ? Object.entries(node) : [];
  if (entry === undefined || !isTree(entry[1])) return undefined;
  const [kind, fields] = entry;
  const own = ownNames.get(kind);
  return own === undefined ? figures.get(kind)?.(fields, columnsOf) : strong(own);
}

const figures = new Map<string, (fields: Tree, columnsOf: ColumnsOf) => FiguredName | undefined>([
  ['ColumnRef', ({ fields }) => lastName(fields)],
  ['FuncCall', ({ funcname }) => lastName(funcname)],
  ['A_Indirection', ({ arg, indirection }, columnsOf) => lastName(indirection) ?? figure(arg, columnsOf)],
  ['A_Expr', ({ kind }) => (kind === 'AEXPR_NULLIF' ? strong('nullif') : undefined)],
  ['CollateClause', ({ arg }, columnsOf) => figure(arg, columnsOf)],
  ['MinMaxExpr', ({ op }) => strong(op === 'IS_LEAST' ? 'least' : 'greatest')],
  [
    'SQLValueFunction',
    ({ op }) =>
      strong(
        String(op)
          .replace(/^SVFOP_/, '')
          .replace(/_N$/, '')
          .toLowerCase(),
      ),
  ],
  ['JsonFuncExpr', ({ op }) => strong(jsonFunctions.get(String(op)) ?? '')],
  ['TypeCast', nameOfCast],
  ['CaseExpr', nameOfCase],
  ['SubLink', nameOfSublink],
]);

function lastName(list: unknown): FiguredName | undefined {
  const name = listOf(list).reduce<string | undefined>((last, item) => textOf(fieldsOf(item, 'String')?.['sval']) ?? last, undefined);
  return name === undefined ? undefined : strong(name);
}

function nameOfCast({ arg, typeName }: Tree, columnsOf: ColumnsOf): FiguredName | undefined {
  const inner = figure(arg, columnsOf);
  if (inner && !inner.weak) return inner;
  const type = lastName(isTree(typeName) ? typeName['names'] : undefined);
  return type && { ...type, weak: true };
}

function nameOfCase({ defresult }: Tree, columnsOf: ColumnsOf): FiguredName {
  const inner = figure(defresult, columnsOf);
  return inner && !inner.weak ? inner : { name: 'case', weak: true };
}

function nameOfSublink({ subLinkType, subselect }: Tree, columnsOf: ColumnsOf): FiguredName | undefined {
  if (subLinkType === 'EXISTS_SUBLINK') return strong('exists');
  if (subLinkType === 'ARRAY_SUBLINK') return strong('array');
  if (subLinkType !== 'EXPR_SUBLINK') return undefined;
  return strong(columnsOf(fieldsOf(subselect, 'SelectStmt'))?.list[0]?.name ?? '');
}
