import type { Tile } from '../meaning/tiles.ts';
import type { Schema, Table } from '../schema/schema.ts';
import { type Output, present, type Reply } from './presentation.ts';

const words = /^(see|access|describe|visible|available|columns?|tables?|scope|know|which|what|schema|data|content|structure|have)$/;

/** Which tables and columns there are, for a question about nothing else. */
export function catalogReply(tiles: readonly Tile[], schema: Schema, output: Output): Reply | undefined {
  const asks = tiles.some(({ tags, words: [word] }) => tags.includes('catalog') || word?.lower === 'describe');
  const isOther = ({ tags, tables, isFiller, words: [word] }: Tile) =>
    !isFiller && tables.length === 0 && !tags.includes('catalog') && !tags.includes('which') && !words.test(word?.lower ?? '');
  const tables = [...new Set(tiles.flatMap((tile) => tile.tables.slice(0, 1)))];
  const [table] = tables;
  if (!asks || tiles.some(isOther) || tables.length > 1) return undefined;
  return table ? columnsReply(table, output) : tablesReply(schema, output);
}

const about = { assumed: [], notes: [], groups: 0, locale: 'en' };

function tablesReply(schema: Schema, output: Output): Reply {
  const rows = schema.map(({ name, columns }) => [name, columns.map((column) => column.name).join(', ')]);
  return present(
    { columns: [{ title: 'table' }, { title: 'columns' }], rows, truncated: false },
    { ...about, counted: 'tables that this agent can see' },
    output,
  );
}

function columnsReply(table: Table, output: Output): Reply {
  const leads = (name: string) => table.foreignKeys.find(({ column }) => column === name)?.table ?? '';
  const rows = table.columns.map(({ name, kind }) => [name, kind, leads(name)]);
  return present(
    { columns: [{ title: 'column' }, { title: 'kind' }, { title: 'leads to' }], rows, truncated: false },
    { ...about, counted: `columns of ${table.name} that this agent can see` },
    output,
  );
}
