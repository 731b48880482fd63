import { expect, test } from '@jest/globals';
import { createDataSource } from '../src/data-source.ts';
import { describeTable } from '../src/results.ts';
import { resolveScope } from '../src/scope/resolve-scope.ts';
import { databaseOfFile } from './support/database.ts';

const database = databaseOfFile();

test('a column whose type is a domain is described with the type of its values, and with the labels of an enum', async () => {
  await database.administrator.query(`
    create type phase as enum ('open', 'done');
    create domain amount as numeric(14,2) check (value >= 0);
    create domain fee as amount;
    create domain step as phase;
    create table jobs (cost amount not null, extra fee, costs amount[], step step, phase phase)`);
  const source = createDataSource({ url: database.url, poolMax: 1 }, () => undefined);
  try {
    const [table] = resolveScope(await source.catalog(), { tables: ['jobs'], readOnly: true }).scope.tables;
    expect(table && describeTable(table).split('\n').slice(1)).toEqual([
      '- cost: public.amount, stored as numeric, never empty',
      '- extra: public.fee, stored as numeric',
      '- costs: public.amount[], stored as numeric[]',
      "- step: public.step, stored as public.phase, one of 'open', 'done'",
      "- phase: public.phase, one of 'open', 'done'",
    ]);
  } finally {
    await source.close();
  }
});
