import type { Result } from '../answer/presentation.ts';
import type { ForeignKey, Schema, Table } from '../schema/schema.ts';
import {
  type DescribedKey,
  type DescribedTable,
  type ListedTable,
  partsOf,
  readDescription,
  readRows,
  readTableList,
} from './tool-texts.ts';

/** Why there is nothing to read, in words for the reader. */
export interface Unreadable {
  readonly error: string;
}

/** The organization's data as far as the agent may see it. */
export interface Data {
  schema(): Promise<Schema | Unreadable>;
  query(sql: string): Promise<Pick<Result, 'rows' | 'truncated'> | Unreadable>;
}

export interface Tool {
  readonly name: string;
  run(input: unknown, signal: AbortSignal): Promise<string>;
}

/** Describing is cheap but not free; who has more tables in scope asks about the first of them. */
const mostTables = 100;

/** The data that a request's tools give access to; undefined without such tools. The schema is read once for each answer. */
export function toolData(tools: readonly Tool[], signal: AbortSignal): Data | undefined {
  const call = (name: string) => {
    const tool = tools.find((one) => one.name === name);
    return tool && (async (input: unknown) => await tool.run(input, signal));
  };
  const [list, describe, query] = [call('list_tables'), call('describe_table'), call('query')];
  if (!list || !describe || !query) return undefined;

  async function readSchema(): Promise<Schema | Unreadable> {
    const text = await (list as (input: unknown) => Promise<string>)({});
    const listed = readTableList(text)?.slice(0, mostTables);
    if (!listed) return { error: text };
    const described = await Promise.all(
      listed.map(async ({ written }) => readDescription(await (describe as (input: unknown) => Promise<string>)({ table: written }))),
    );
    return schemaOf(listed, described);
  }

  let schema: Promise<Schema | Unreadable> | undefined;
  return {
    schema: async () => await (schema ??= readSchema()),
    async query(sql) {
      const text = await query({ sql });
      return readRows(text) ?? { error: text };
    },
  };
}

/** A table goes by its own name where no other has the same one. */
export function schemaOf(listed: readonly ListedTable[], described: readonly DescribedTable[]): Schema {
  const own = listed.map(({ written }) => partsOf(written).at(-1) as string);
  const names = own.map((name, index) => (own.indexOf(name) === own.lastIndexOf(name) ? name : nameWithSchema(listed[index])));
  return listed.map(({ written, rows }, index): Table => {
    const { columns, keys } = described[index] ?? { columns: [], keys: [] };
    const foreignKeys = keys.flatMap((key) => foreignKey(key, listed, names));
    return { name: names[index] as string, written, rows, columns, foreignKeys };
  });
}

const nameWithSchema = (table: ListedTable | undefined): string => partsOf(table?.written ?? '').join('.');

/** Keys name their target with its schema, which lists leave out where it goes without saying. */
function foreignKey({ column, target, references }: DescribedKey, listed: readonly ListedTable[], names: readonly string[]): ForeignKey[] {
  const exact = listed.findIndex(({ written }) => partsOf(written).join('.') === target.join('.'));
  const bare = listed.findIndex(({ written }) => partsOf(written).join('.') === target.at(-1));
  const table = names[exact >= 0 ? exact : bare];
  return table === undefined ? [] : [{ column, table, references }];
}
