import { Refusal } from '../failure.ts';
import { allowedFunctions, allowedOperators, allowedTypes } from './allowed-names.ts';
import { grammar, isPosition, type Shape } from './grammar.ts';
import { fieldsOf, isTree, listOf, namesOf, type Tree } from './tree.ts';
import { requireBoundedType } from './value-size.ts';

const maxDepth = 250;
const maxNodes = 20_000;
const maxRelations = 60;

/**
 * Refuses everything but an allowed SELECT: each node kind with its fields, and each function, operator and type must be on its list.
 * Their names mean those of pg_catalog.
 */
export function checkGrammar(statement: unknown): void {
  if (!isTree(statement) || Object.keys(statement).join() !== 'SelectStmt') throw new Refusal('Only a SELECT statement can run.');
  const visitor = createVisitor();
  visitor.node(statement, 0);
}

interface Visitor {
  node(node: unknown, depth: number): void;
}

function createVisitor(): Visitor {
  let nodes = 0;
  let relations = 0;
  const checks = createChecks(() => {
    relations += 1;
    if (relations > maxRelations) throw new Refusal(`A statement can read at most ${maxRelations} tables.`);
  });

  function node(wrapped: unknown, depth: number): void {
    const [kind, ...more] = isTree(wrapped) ? Object.keys(wrapped) : [];
    if (kind === undefined || more.length > 0)
      throw new Refusal('A part of this statement is empty or unknown. Write one SELECT over tables, columns, functions and operators.');
    fieldsIn(kind, (wrapped as Tree)[kind], depth);
  }

  function fieldsIn(kind: string, fields: unknown, depth: number): void {
    nodes += 1;
    if (depth > maxDepth || nodes > maxNodes) throw new Refusal('This statement is nested too deeply or too long.');
    const shapes = grammar.get(kind);
    if (shapes === undefined || !isTree(fields)) throw new Refusal(`${describe(kind)} is not supported.`);
    checks.get(kind)?.(fields);
    for (const field in fields) {
      const shape = shapes.get(field);
      if (shape === undefined ? !isPosition(field) : !check(shape, fields[field], depth + 1))
        throw new Refusal(`${describe(kind)} (${field}) is not supported.`);
    }
  }

  /** Returns false when the value does not have this shape; throws a Refusal for disallowed contents. */
  function check(shape: Shape, value: unknown, depth: number): boolean {
    if (shape === 'value') return isPlainValue(value);
    if (shape === 'nodes') return nodesIn(value, depth);
    if (shape === 'node') node(value, depth);
    else if ('plain' in shape) fieldsIn(shape.plain, value, depth);
    else return shape.among.includes(value as string);
    return true;
  }

  /** An absent element is written as an empty object. */
  function nodesIn(value: unknown, depth: number): boolean {
    if (!Array.isArray(value)) return false;
    for (const item of value) if (!isEmpty(item)) node(item, depth);
    return true;
  }

  return { node };
}

const isEmpty = (item: unknown): boolean => isTree(item) && Object.keys(item).length === 0;

/** True for a plain value, and for the value object of a constant. */
const isPlainValue = (value: unknown): boolean =>
  isTree(value) ? Object.values(value).every((one) => typeof one !== 'object') : typeof value !== 'object';

type Checks = ReadonlyMap<string, (fields: Tree) => void>;

function createChecks(countRelation: () => void): Checks {
  const checks: Record<string, (fields: Tree) => void> = {
    FuncCall: (fields) => {
      requireName(fields['funcname'], allowedFunctions, 'The function');
    },
    A_Expr: (fields) => requireOperator(fields['name'], fields['kind']),
    SubLink: (fields) => {
      if (fields['operName'] !== undefined) requireOperator(fields['operName'], 'AEXPR_OP');
    },
    SortBy: (fields) => {
      if (fields['useOp'] !== undefined) requireOperator(fields['useOp'], 'AEXPR_OP');
    },
    TypeName: (fields) => {
      requireName(fields['names'], allowedTypes, 'The type');
      requireBoundedType(fields);
    },
    ColumnDef: refuseQueryType,
    JsonTableColumn: refuseQueryType,
    JsonOutput: refuseQueryType,
    RangeVar: countRelation,
    RangeTableSample: (fields) => {
      requireName(fields['method'], samplingMethods, 'The sampling method');
      if (fieldsOf(fields['relation'], 'RangeVar') === undefined) throw new Refusal('Only a table can be sampled.');
    },
    CollateClause: (fields) => {
      pgCatalogName(fields['collname'], 'The collation');
    },
    CommonTableExpr: (fields) => {
      if (fieldsOf(fields['ctequery'], 'SelectStmt') === undefined) throw new Refusal('Only SELECT can stand in a WITH clause.');
    },
    ColumnRef: (fields) => {
      if (listOf(fields['fields']).length > 3) throw new Refusal('A column is named by at most schema, table and column.');
    },
  };
  return new Map(Object.entries(checks));
}

/** A cast bounds the text that it reads as a tsquery. In these places the text is a part of a JSON document. */
function refuseQueryType({ typeName }: Tree): void {
  if (isTree(typeName) && namesOf(typeName['names'])?.at(-1) === 'tsquery')
    throw new Refusal('The type "tsquery" is available in casts only.');
}

const samplingMethods = new Set(['bernoulli', 'system']);

function requireName(list: unknown, allowed: ReadonlySet<string>, what: string): string {
  const name = pgCatalogName(list, what);
  if (!allowed.has(name)) throw new Refusal(`${what} "${name}" is not available here.`);
  return name;
}

/** For these the parser sets a keyword as the name of the operator. */
const namedByKeyword = new Set(['AEXPR_BETWEEN', 'AEXPR_NOT_BETWEEN', 'AEXPR_BETWEEN_SYM', 'AEXPR_NOT_BETWEEN_SYM']);

function requireOperator(list: unknown, kind: unknown): void {
  const name = pgCatalogName(list, 'The operator');
  if (!allowedOperators.has(name) && !namedByKeyword.has(String(kind))) throw new Refusal(`The operator ${name} is not available here.`);
}

/** The search_path of the session is pg_catalog, so an unqualified name means that of pg_catalog too. */
function pgCatalogName(list: unknown, what: string): string {
  const [first, second, ...more] = namesOf(list) ?? [];
  const name = second === undefined ? first : second;
  if (name === undefined || more.length > 0 || (second !== undefined && first !== 'pg_catalog'))
    throw new Refusal(`${what} ${[first, second, ...more].filter(Boolean).join('.')} is not available here.`);
  return name;
}

/** The name of a node kind in messages; for most kinds the parser's name is clear. */
const describe = (kind: string): string => kindNames.get(kind) ?? kind;

const kindNames = new Map([
  ['ParamRef', 'A parameter such as $1'],
  ['SetToDefault', 'DEFAULT'],
  ['XmlExpr', 'XML'],
  ['XmlSerialize', 'XML'],
  ['RangeTableFunc', 'XMLTABLE'],
  ['SelectStmt', 'SELECT'],
  ['RangeVar', 'A table reference'],
  ['SQLValueFunction', 'This session value'],
]);
