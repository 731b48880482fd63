import { Refusal } from '../refusal.ts';
import { allowedFunctions } from '../statement/allowed-names.ts';
import { fieldsOf, isTree, listOf, namesOf, type Tree, textOf } from '../statement/tree.ts';
import { cellSize } from '../statement/value-size.ts';
import type { Binder, Context, FromPart } from './context.ts';
import { type Columns, concatColumns, noColumns, renameColumns, unknownColumns } from './namespace.ts';
import { outputName } from './output-name.ts';

/** Allowed functions with named output columns; every other returns one column of its own name. */
export const outputColumns: ReadonlyMap<string, readonly string[]> = new Map(
  ['json', 'jsonb'].flatMap((type): [string, readonly string[]][] => [
    [`${type}_array_elements`, ['value']],
    [`${type}_array_elements_text`, ['value']],
    [`${type}_each`, ['key', 'value']],
    [`${type}_each_text`, ['key', 'value']],
  ]),
);

/** Allowed functions whose columns a column definition list names. */
export const recordFunctions: ReadonlySet<string> = new Set([
  'json_to_record',
  'jsonb_to_record',
  'json_to_recordset',
  'jsonb_to_recordset',
]);

/** Allowed functions that may return a row type, depending on what they are given. */
export const elementFunctions: ReadonlySet<string> = new Set(['unnest', 'lower', 'upper']);

const lexemeColumns = ['lexeme', 'positions', 'weights'];
/** Allowed functions that return a tsvector. */
const tsvectorFunctions = new Set(['to_tsvector', 'setweight', 'strip']);

const columnsNamed = (names: readonly string[]): Columns => ({ list: names.map((name) => ({ name, size: cellSize })), open: false });

interface Item {
  readonly call: unknown;
  readonly definitions: readonly unknown[];
}

/** The relation that functions in FROM make; their arguments are bound by the caller. */
export function bindFunctions(range: Tree, context: Context, binder: Binder): FromPart {
  const items = listOf(range['functions']).flatMap((item) => splitUnnest(itemOf(item, range['coldeflist'])));
  for (const { call } of items) binder.expression(call, context);
  const alias = isTree(range['alias']) ? range['alias'] : undefined;
  const names = items.map(({ call }) => outputName(call, binder.columnsOf));
  const name = textOf(alias?.['aliasname']) ?? names[0] ?? '';
  const scalarName = items.length === 1 && alias !== undefined ? name : undefined;
  const parts = items.map((item, index) => columnsOf(item, scalarName ?? names[index] ?? '', binder));
  const ordinality = range['ordinality'] === true ? columnsNamed(['ordinality']) : noColumns;
  const columns = renameColumns([...parts, ordinality].reduce(concatColumns, noColumns), namesOf(alias?.['colnames']) ?? [], name);
  return { relations: [{ name, columns }], star: columns };
}

function itemOf(item: unknown, coldeflist: unknown): Item {
  const [call, definitions] = listOf(fieldsOf(item, 'List')?.['items']);
  const own = listOf(fieldsOf(definitions, 'List')?.['items']);
  return { call, definitions: own.length > 0 ? own : listOf(coldeflist) };
}

/** PostgreSQL reads `unnest(a, b)` in FROM as `ROWS FROM (unnest(a), unnest(b))`. */
function splitUnnest(item: Item): Item[] {
  const fields = fieldsOf(item.call, 'FuncCall');
  const args = listOf(fields?.['args']);
  if (args.length < 2 || (namesOf(fields?.['funcname']) ?? []).join('.') !== 'unnest') return [item];
  return args.map((arg) => ({ ...item, call: { FuncCall: { ...fields, args: [arg] } } }));
}

function columnsOf({ call, definitions }: Item, scalarName: string, binder: Binder): Columns {
  if (definitions.length > 0) return columnsNamed(definitions.map((one) => textOf(fieldsOf(one, 'ColumnDef')?.['colname']) ?? ''));
  if (fieldsOf(call, 'SQLValueFunction')) return columnsNamed([scalarName]);
  const fields = fieldsOf(call, 'FuncCall');
  // COALESCE and its kin: allowed, but their type is that of their arguments.
  if (fields === undefined) return binder.mayBeComposite() ? unknownColumns : columnsNamed([scalarName]);
  const name = namesOf(fields['funcname'])?.at(-1) ?? '';
  if (!allowedFunctions.has(name)) throw new Refusal(`The function "${name}" is not available here.`);
  if (recordFunctions.has(name)) throw new Refusal(`Write the columns of ${name}() behind it: ${name}(...) AS r(a text, b integer).`);
  const known = outputColumns.get(name);
  if (known) return columnsNamed(known);
  if (!elementFunctions.has(name)) return columnsNamed([scalarName]);
  return columnsOfElement(listOf(fields['args'])[0], scalarName, binder);
}

/** An array of a row type gives the columns of that type, and a tsvector those of its lexemes. */
function columnsOfElement(argument: unknown, scalarName: string, binder: Binder): Columns {
  const call = namesOf(fieldsOf(argument, 'FuncCall')?.['funcname'])?.at(-1);
  if (call !== undefined && tsvectorFunctions.has(call)) return columnsNamed(lexemeColumns);
  if (isArray(argument)) return columnsNamed([scalarName]);
  return binder.mayBeComposite() || binder.mayBeTsvector() ? unknownColumns : columnsNamed([scalarName]);
}

/** A cast to an array; gate one keeps its type to built-in ones. */
function isArray(argument: unknown): boolean {
  const type = fieldsOf(argument, 'TypeCast')?.['typeName'];
  return isTree(type) && listOf(type['arrayBounds']).length > 0 && !namesOf(type['names'])?.includes('tsvector');
}
