import { type CatalogColumn, storedType } from '../scope/catalog.ts';
import type { ScopedTable } from '../scope/scope.ts';
import { bindExpression } from './bind-expression.ts';
import { bindFrom } from './bind-from.ts';
import { bindSelect } from './bind-select.ts';
import type { Binder, Columns } from './namespace.ts';
import { fieldsOf, isTree, type Tree } from './tree.ts';
import { Bounds, Collection, RowTotal } from './value-size.ts';

/**
 * Resolves every name of a rewritten statement by the scoping rules of PostgreSQL, and refuses a name that it cannot resolve: PostgreSQL
 * would look for a function, a type or a system column of that name. `tables` are those that the statement may read, with their columns in
 * scope. Returns the statement with bounds on values that may become too long.
 */
export function bind(statement: Tree, tables: readonly ScopedTable[]): Tree {
  const outputs = new Map<unknown, Columns>();
  const someColumn = (matches: (column: CatalogColumn) => boolean) => tables.some(({ columns }) => columns.some(matches));
  const binder: Binder = {
    select(select, context, onLeft) {
      const columns = bindSelect(select, context, binder, onLeft);
      outputs.set(select, columns);
      return columns;
    },
    from: (items, context) => bindFrom(items, context, binder),
    expression: (node, context) => bindExpression(node, context, binder),
    columnsOf: (select) => outputs.get(select),
    table: (schema, name) => tables.find((table) => table.schema === schema && table.name === name),
    collection: new Collection(),
    rows: new RowTotal(),
    bounds: new Bounds(),
    mayBeComposite: once(() => someColumn((column) => !isBuiltIn(storedType(column)) && column.labels === null)),
    mayBeTsvector: once(() => someColumn((column) => storedType(column) === 'tsvector') || mentions(statement, tsvectorNames)),
    mayBeJsonpath: once(() => someColumn((column) => storedType(column).startsWith('jsonpath')) || mentions(statement, jsonpathNames)),
  };
  binder.select(fieldsOf(statement, 'SelectStmt') ?? {}, { namespace: undefined, ctes: undefined, windows: new Set(), level: 0 });
  return binder.bounds.apply(statement);
}

function once(compute: () => boolean): () => boolean {
  let known: boolean | undefined;
  return () => {
    known ??= compute();
    return known;
  };
}

/** Types of pg_catalog as format_type writes them; none of them is a row type. */
const builtIn = new RegExp(
  `^(${[
    'smallint|integer|bigint|numeric|real|double precision|money|text|character varying|character|"char"|name|boolean|bytea|uuid|oid',
    'date|time|timestamp|interval|json|jsonb|jsonpath|xml|inet|cidr|macaddr|macaddr8|bit|bit varying|tsquery|pg_lsn|reg[a-z]+',
    'point|line|lseg|box|path|polygon|circle|(int4|int8|num|date|ts|tstz)(multi)?range',
  ].join('|')})(\\([\\d,]*\\))?( with(out)? time zone)?( (year|month|day|hour|minute|second|to|\\(\\d\\))+)*(\\[\\])*$`,
);

const isBuiltIn = (type: string): boolean => type === 'tsvector' || builtIn.test(type);

/** Functions and casts that return a value of the type. */
const tsvectorNames = new Set(['tsvector', 'to_tsvector']);
const jsonpathNames = new Set(['jsonpath']);

function mentions(node: unknown, names: ReadonlySet<string>): boolean {
  if (Array.isArray(node)) return node.some((item) => mentions(item, names));
  if (!isTree(node)) return false;
  const name = fieldsOf(node, 'String')?.['sval'];
  if (typeof name === 'string') return names.has(name);
  return Object.values(node).some((value) => mentions(value, names));
}
