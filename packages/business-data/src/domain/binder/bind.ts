import type { ScopedTable } from '../scope.ts';
import { fieldsOf, isTree, type Tree } from '../tree.ts';
import { Collection } from '../value-size.ts';
import type { Binder } from './context.ts';
import { bindExpression } from './expressions.ts';
import { bindFrom } from './from.ts';
import type { Columns } from './namespace.ts';
import { bindSelect } from './select.ts';

/**
 * Resolves every name of a rewritten statement as PostgreSQL will, and refuses what it cannot resolve: PostgreSQL would look for a
 * function, a type or a system column of that name. `tables` are those that the statement may read, with the columns in scope.
 */
export function bind(statement: Tree, tables: readonly ScopedTable[]): void {
  const outputs = new Map<unknown, Columns>();
  const mayBeComposite = once(() =>
    tables.some(({ columns }) => columns.some((column) => !isBuiltIn(column.type) && column.labels === null)),
  );
  const mayBeTsvector = once(
    () => tables.some(({ columns }) => columns.some(({ type }) => type === 'tsvector')) || mentionsTsvector(statement),
  );
  const binder: Binder = {
    select(select, place, onLeft) {
      const columns = bindSelect(select, place, binder, onLeft);
      outputs.set(select, columns);
      return columns;
    },
    from: (items, place) => bindFrom(items, place, binder),
    expression: (node, place) => bindExpression(node, place, binder),
    columnsOf: (select) => outputs.get(select),
    table: (schema, name) => tables.find((table) => table.schema === schema && table.name === name),
    collection: new Collection(),
    mayBeComposite,
    mayBeTsvector,
  };
  binder.select(fieldsOf(statement, 'SelectStmt') ?? {}, { namespace: undefined, ctes: undefined, windows: new Set(), level: 0 });
}

function once(compute: () => boolean): () => boolean {
  let known: boolean | undefined;
  return () => {
    known ??= compute();
    return known;
  };
}

/** As format_type writes the types of pg_catalog; none of them is a row type. */
const builtIn = new RegExp(
  `^(${[
    'smallint|integer|bigint|numeric|real|double precision|money|text|character varying|character|"char"|name|boolean|bytea|uuid|oid',
    'date|time|timestamp|interval|json|jsonb|jsonpath|xml|inet|cidr|macaddr|macaddr8|bit|bit varying|tsquery|pg_lsn|reg[a-z]+',
    'point|line|lseg|box|path|polygon|circle|(int4|int8|num|date|ts|tstz)(multi)?range',
  ].join('|')})(\\([\\d,]*\\))?( with(out)? time zone)?( (year|month|day|hour|minute|second|to|\\(\\d\\))+)*(\\[\\])*$`,
);

const isBuiltIn = (type: string): boolean => type === 'tsvector' || builtIn.test(type);

/** By a function that makes one, or by a cast. */
function mentionsTsvector(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(mentionsTsvector);
  if (!isTree(node)) return false;
  const name = fieldsOf(node, 'String')?.['sval'];
  if (typeof name === 'string') return name === 'tsvector' || name === 'to_tsvector';
  return Object.values(node).some(mentionsTsvector);
}
