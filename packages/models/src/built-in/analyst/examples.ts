import { mainNumber } from './columns.ts';
import type { Schema, Table } from './schema.ts';

const examples = 3;

/** Questions over these very tables that are understood. */
export function examplesOf(schema: Schema): string[] {
  const each = schema.map(questionsOf);
  const longest = Math.max(...each.map(({ length }) => length));
  const turns = Array.from({ length: longest }, (_, turn) => each.flatMap((questions) => questions[turn] ?? [])).flat();
  return turns.slice(0, examples);
}

function questionsOf(table: Table): string[] {
  const name = table.name.replaceAll('_', ' ');
  const category = table.columns.find(
    (column) => column.kind === 'text' && /status|type|kind|category|country|department|channel|segment/.test(column.name),
  );
  const number = mainNumber(table);
  return [
    `How many ${name} are there${category ? ` by ${category.name.replaceAll('_', ' ')}` : ''}?`,
    ...(number ? [`What is the average ${number.name.replaceAll('_', ' ')} of ${name}?`] : []),
    ...(table.columns.some(({ kind }) => kind === 'date') ? [`How many ${name} were there last month?`] : []),
  ];
}
