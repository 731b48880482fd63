/**
 * The allowed statements, as a grammar over PostgreSQL's raw parse tree: node kinds, and for each kind the fields that may be set.
 * Everything else is refused: locking clauses, SELECT INTO, parameters, XML, cursors, and every statement but SELECT.
 */
export type Shape =
  | 'value'
  /** Wrapped in its kind: `{ ColumnRef: {...} }`. */
  | 'node'
  | 'nodes'
  /** The fields of this kind, not wrapped. */
  | { readonly plain: string }
  /** One of these values only. */
  | { readonly among: readonly (string | boolean)[] };

const plain = (kind: string): Shape => ({ plain: kind });
const among = (...values: (string | boolean)[]): Shape => ({ among: values });

const alias = plain('Alias');
const typeName = plain('TypeName');
const jsonValue = plain('JsonValueExpr');
const jsonOutput = plain('JsonOutput');
const jsonBehavior = plain('JsonBehavior');
const jsonFormat = plain('JsonFormat');

const query: Record<string, Record<string, Shape>> = {
  SelectStmt: {
    distinctClause: 'nodes',
    targetList: 'nodes',
    fromClause: 'nodes',
    whereClause: 'node',
    groupClause: 'nodes',
    groupDistinct: 'value',
    havingClause: 'node',
    windowClause: 'nodes',
    valuesLists: 'nodes',
    sortClause: 'nodes',
    limitOffset: 'node',
    limitCount: 'node',
    limitOption: 'value',
    withClause: plain('WithClause'),
    op: 'value',
    all: 'value',
    larg: plain('SelectStmt'),
    rarg: plain('SelectStmt'),
  },
  WithClause: { ctes: 'nodes', recursive: 'value' },
  CommonTableExpr: {
    ctename: 'value',
    aliascolnames: 'nodes',
    ctematerialized: 'value',
    ctequery: 'node',
    search_clause: plain('CTESearchClause'),
    cycle_clause: plain('CTECycleClause'),
  },
  CTESearchClause: { search_col_list: 'nodes', search_breadth_first: 'value', search_seq_column: 'value' },
  CTECycleClause: {
    cycle_col_list: 'nodes',
    cycle_mark_column: 'value',
    cycle_mark_value: 'node',
    cycle_mark_default: 'node',
    cycle_path_column: 'value',
  },
  ResTarget: { name: 'value', val: 'node' },
  SortBy: { node: 'node', sortby_dir: 'value', sortby_nulls: 'value', useOp: 'nodes' },
  GroupingSet: { kind: 'value', content: 'nodes' },
  WindowDef: {
    name: 'value',
    refname: 'value',
    partitionClause: 'nodes',
    orderClause: 'nodes',
    frameOptions: 'value',
    startOffset: 'node',
    endOffset: 'node',
  },
};

const relations: Record<string, Record<string, Shape>> = {
  RangeVar: { schemaname: 'value', relname: 'value', inh: among(true), relpersistence: among('p'), alias },
  RangeSubselect: { lateral: 'value', subquery: 'node', alias },
  RangeFunction: { lateral: 'value', ordinality: 'value', is_rowsfrom: 'value', functions: 'nodes', alias, coldeflist: 'nodes' },
  RangeTableSample: { relation: 'node', method: 'nodes', args: 'nodes', repeatable: 'node' },
  JoinExpr: {
    jointype: 'value',
    isNatural: 'value',
    larg: 'node',
    rarg: 'node',
    usingClause: 'nodes',
    join_using_alias: alias,
    quals: 'node',
    alias,
  },
  Alias: { aliasname: 'value', colnames: 'nodes' },
  ColumnDef: { colname: 'value', typeName, is_local: 'value' },
  List: { items: 'nodes' },
};

const expressions: Record<string, Record<string, Shape>> = {
  ColumnRef: { fields: 'nodes' },
  A_Star: {},
  String: { sval: 'value' },
  Integer: { ival: 'value' },
  A_Const: { ival: 'value', fval: 'value', boolval: 'value', sval: 'value', bsval: 'value', isnull: 'value' },
  A_Expr: { kind: 'value', name: 'nodes', lexpr: 'node', rexpr: 'node' },
  BoolExpr: { boolop: 'value', args: 'nodes' },
  FuncCall: {
    funcname: 'nodes',
    args: 'nodes',
    agg_order: 'nodes',
    agg_filter: 'node',
    over: plain('WindowDef'),
    agg_within_group: 'value',
    agg_star: 'value',
    agg_distinct: 'value',
    func_variadic: 'value',
    funcformat: 'value',
  },
  NamedArgExpr: { arg: 'node', name: 'value', argnumber: 'value' },
  GroupingFunc: { args: 'nodes' },
  SubLink: { subLinkType: 'value', testexpr: 'node', operName: 'nodes', subselect: 'node' },
  CaseExpr: { arg: 'node', args: 'nodes', defresult: 'node' },
  CaseWhen: { expr: 'node', result: 'node' },
  CoalesceExpr: { args: 'nodes' },
  MinMaxExpr: { op: 'value', args: 'nodes' },
  NullTest: { arg: 'node', nulltesttype: 'value' },
  BooleanTest: { arg: 'node', booltesttype: 'value' },
  RowExpr: { args: 'nodes', row_format: 'value' },
  A_ArrayExpr: { elements: 'nodes' },
  A_Indirection: { arg: 'node', indirection: 'nodes' },
  A_Indices: { is_slice: 'value', lidx: 'node', uidx: 'node' },
  TypeCast: { arg: 'node', typeName },
  TypeName: { names: 'nodes', typmods: 'nodes', typemod: 'value', arrayBounds: 'nodes' },
  CollateClause: { arg: 'node', collname: 'nodes' },
  SQLValueFunction: {
    op: among(
      'SVFOP_CURRENT_DATE',
      'SVFOP_CURRENT_TIME',
      'SVFOP_CURRENT_TIME_N',
      'SVFOP_CURRENT_TIMESTAMP',
      'SVFOP_CURRENT_TIMESTAMP_N',
      'SVFOP_LOCALTIME',
      'SVFOP_LOCALTIME_N',
      'SVFOP_LOCALTIMESTAMP',
      'SVFOP_LOCALTIMESTAMP_N',
    ),
    typmod: 'value',
  },
};

const json: Record<string, Record<string, Shape>> = {
  JsonFormat: { format_type: 'value', encoding: 'value' },
  JsonReturning: { format: jsonFormat, typmod: 'value' },
  JsonOutput: { typeName, returning: plain('JsonReturning') },
  JsonValueExpr: { raw_expr: 'node', format: jsonFormat },
  JsonBehavior: { btype: 'value', expr: 'node' },
  JsonArgument: { val: jsonValue, name: 'value' },
  JsonFuncExpr: {
    op: 'value',
    column_name: 'value',
    context_item: jsonValue,
    pathspec: 'node',
    passing: 'nodes',
    output: jsonOutput,
    on_empty: jsonBehavior,
    on_error: jsonBehavior,
    wrapper: 'value',
    quotes: 'value',
  },
  JsonTable: {
    context_item: jsonValue,
    pathspec: plain('JsonTablePathSpec'),
    passing: 'nodes',
    columns: 'nodes',
    on_error: jsonBehavior,
    alias,
    lateral: 'value',
  },
  JsonTablePathSpec: { string: 'node', name: 'value' },
  JsonTableColumn: {
    coltype: 'value',
    name: 'value',
    typeName,
    pathspec: plain('JsonTablePathSpec'),
    format: jsonFormat,
    wrapper: 'value',
    quotes: 'value',
    columns: 'nodes',
    on_empty: jsonBehavior,
    on_error: jsonBehavior,
  },
  JsonKeyValue: { key: 'node', value: jsonValue },
  JsonIsPredicate: { expr: 'node', format: jsonFormat, item_type: 'value', unique_keys: 'value' },
  JsonObjectConstructor: { exprs: 'nodes', output: jsonOutput, absent_on_null: 'value', unique: 'value' },
  JsonArrayConstructor: { exprs: 'nodes', output: jsonOutput, absent_on_null: 'value' },
  JsonArrayQueryConstructor: { query: 'node', output: jsonOutput, format: jsonFormat, absent_on_null: 'value' },
  JsonAggConstructor: { output: jsonOutput, agg_filter: 'node', agg_order: 'nodes', over: plain('WindowDef') },
  JsonObjectAgg: { constructor: plain('JsonAggConstructor'), arg: plain('JsonKeyValue'), absent_on_null: 'value', unique: 'value' },
  JsonArrayAgg: { constructor: plain('JsonAggConstructor'), arg: jsonValue, absent_on_null: 'value' },
};

export const grammar: ReadonlyMap<string, ReadonlyMap<string, Shape>> = new Map(
  Object.entries({ ...query, ...relations, ...expressions, ...json }).map(([kind, fields]) => [kind, new Map(Object.entries(fields))]),
);

/** True for fields that hold positions in the text, which do not change the meaning. */
export const isPosition = (field: string): boolean => positions.has(field);

const positions = new Set([
  'location',
  'name_location',
  'stmt_location',
  'stmt_len',
  'list_start',
  'list_end',
  'rexpr_list_start',
  'rexpr_list_end',
]);
