import { Refusal } from './refusal.ts';
import type { ScopedTable } from './scope.ts';
import { fieldsOf, isTree, listOf, namesOf, textOf } from './tree.ts';

/** Names that a column has when nobody gave it one, beside those of functions and types. */
const implied = [
  'ordinality key value ?column?',
  'coalesce greatest least nullif case array row exists grouping date_part extract position overlay btrim ltrim rtrim substring',
  'current_date current_time current_timestamp localtime localtimestamp json_value json_query json_exists json_object json_array',
  'json_arrayagg json_objectagg json_scalar json json_serialize bool tsvector',
]
  .join(' ')
  .split(' ');

/** Of VALUES, and of rows made by ROW. */
const numbered = /^(column|f)\d+$/;

/**
 * Refuses a reference to a name that no scoped column, alias or call of this statement bears. A column outside the scope has none
 * after rewriting; this also closes what PostgreSQL reads into an unknown name: system columns, and a function applied to a row.
 */
export function requireKnownNames(statement: unknown, tables: readonly ScopedTable[]): void {
  const known = new Set(implied);
  for (const { schema, name, columns } of tables) for (const one of [schema, name, ...columns.map((column) => column.name)]) known.add(one);
  const used: string[] = [];
  visit(statement, known, used);
  const unknown = used.find((name) => !known.has(name) && !numbered.test(name));
  if (unknown === undefined) return;
  const columns = tables.map(({ written, columns: scoped }) => `${written}(${scoped.map(({ name }) => name).join(', ')})`);
  throw new Refusal(`There is no column "${unknown}" here. There are: ${columns.join('; ')}.`);
}

function visit(node: unknown, known: Set<string>, used: string[]): void {
  if (Array.isArray(node)) for (const item of node) visit(item, known, used);
  if (!isTree(node)) return;
  for (const field in node) {
    const value = node[field];
    note(field, value, known, used);
    visit(value, known, used);
  }
}

const naming = new Set([
  'aliasname',
  'ctename',
  'colname',
  'column_name',
  'name',
  'search_seq_column',
  'cycle_mark_column',
  'cycle_path_column',
]);

function note(field: string, value: unknown, known: Set<string>, used: string[]): void {
  if (typeof value === 'string' && naming.has(field)) known.add(value);
  else if (field === 'colnames' || field === 'aliascolnames' || field === 'funcname' || field === 'names')
    for (const name of namesOf(value) ?? []) known.add(name);
  else if (field === 'ColumnRef' && isTree(value)) noteUse(value['fields'], used);
  else if (field === 'A_Indirection' && isTree(value)) noteUse(value['indirection'], used);
}

const noteUse = (fields: unknown, used: string[]): void => {
  for (const name of listOf(fields).map((item) => textOf(fieldsOf(item, 'String')?.['sval']))) if (name !== undefined) used.push(name);
};
