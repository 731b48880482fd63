import { expect, test } from '@jest/globals';
import { createDataSource } from '../src/data-source.ts';
import { resolveScope } from '../src/scope/resolve-scope.ts';
import { databaseOfFile } from './support/database.ts';

const database = databaseOfFile();

async function readCatalog() {
  const source = createDataSource({ url: database.url, poolMax: 1 }, () => undefined);
  try {
    return await source.catalog();
  } finally {
    await source.close();
  }
}

test('comments and lists of labels are cut by the database', async () => {
  const labels = Array.from({ length: 200 }, (_, index) => `'label ${index}'`);
  await database.administrator.query(`create type mood as enum (${labels.join(', ')}); create table moods (mood mood);
    do $$ begin
      execute format('comment on table moods is %L', repeat('ü', 20000000));
      execute format('comment on column moods.mood is %L', repeat('ü', 20000000));
    end $$`);
  const { tables, more } = await readCatalog();
  expect([tables.length, tables[0]?.comment?.length, tables[0]?.columns[0]?.labels?.length]).toEqual([1, 500, 50]);
  expect([tables[0]?.comment, more]).toEqual(['ü'.repeat(500), false]);
  expect(tables[0]?.columns[0]).toMatchObject({
    comment: 'ü'.repeat(500),
    labels: Array.from({ length: 50 }, (_, index) => `label ${index}`),
  });
});

test('of a database with too many columns the first tables are read, each with all columns, and the rest is said to be unread', async () => {
  await database.administrator.query(`do $$ begin for n in 1..50 loop
    execute format('create table wide_%s (%s)', lpad(n::text, 2, '0'), (select string_agg(format('c%s int', c), ', ') from generate_series(1, 1500) c));
  end loop; end $$`);
  const catalog = await readCatalog();
  const names = catalog.tables.map(({ name }) => name);
  expect(catalog.more).toBe(true);
  expect(names.length).toBeGreaterThan(20);
  expect(names.length).toBeLessThan(50);
  expect(names).toEqual(['moods', ...Array.from({ length: names.length - 1 }, (_, index) => `wide_${String(index + 1).padStart(2, '0')}`)]);
  expect(new Set(catalog.tables.slice(1).map(({ columns }) => columns.length))).toEqual(new Set([1500]));
  expect(JSON.stringify(catalog).length).toBeLessThan(6_000_000);
  const { unknown } = resolveScope(catalog, { tables: ['wide_01', 'wide_50'], readOnly: true });
  expect(unknown).toEqual([{ index: 1, reason: expect.stringMatching(/^there is no table wide_50 among those that are read/) }]);
});
