import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { type BusinessData, createBusinessData } from '../src/business-data.ts';
import type { ChangeRequest } from '../src/change.ts';
import { createDataSource, type DataSource } from '../src/data-source.ts';
import { DataFailure } from '../src/failure.ts';
import { createTools } from '../src/tools.ts';
import { gate } from './support/gate.ts';

let database: TestDatabase;
let administrator: pg.Client;
let source: DataSource;
let data: BusinessData;

const tables = ['tasks(id, title, tags, facts, size)', 'lines', 'task_titles', 'notes(title)'];

beforeAll(async () => {
  database = await testDatabase();
  administrator = new pg.Client({ connectionString: database.url });
  await administrator.connect();
  await administrator.query(`
    create table tasks (id serial primary key, title text not null unique, tags text[], facts jsonb, size integer generated always as (length(title)) stored,
      secret text default 'CANARY');
    create table lines (task integer references tasks, line integer, text text, primary key (task, line));
    create table notes (id integer primary key, title text);
    create view task_titles as select title from tasks`);
  source = createDataSource({ url: database.url }, () => undefined);
  data = createBusinessData({ source, gate, scope: { tables, readOnly: false } });
});

beforeEach(() => administrator.query(`truncate tasks restart identity cascade; insert into tasks (title) values ('one'), ('two')`));

afterAll(async () => {
  await source.close();
  await administrator.end();
  await database.drop();
});

const titles = async () => (await administrator.query('select title from tasks order by id')).rows.map(({ title }) => title as string);

test('rows are inserted, updated and deleted, and only columns in scope come back', async () => {
  const inserted = await data.change({
    table: 'tasks',
    operation: 'insert',
    rows: [
      { values: { title: "x'); drop table tasks; --", tags: ['a', 'b"c'], facts: { deep: [1, null] } } },
      { values: { title: 'four' } },
    ],
  });
  expect(inserted.columns.map(({ name }) => name)).toEqual(['id', 'title', 'tags', 'facts', 'size']);
  expect(inserted.rows[0]).toEqual([3, "x'); drop table tasks; --", '{a,"b\\"c"}', { deep: [1, null] }, 25]);
  await data.change({ table: 'tasks', operation: 'update', rows: [{ key: { id: 1 }, values: { title: 'uno', facts: null } }] });
  expect(await titles()).toEqual(['uno', 'two', "x'); drop table tasks; --", 'four']);
  const keys = [1, '2', 3].map((line) => ({ task: 1, line }));
  await data.change({ table: 'lines', operation: 'insert', rows: keys.map((values) => ({ values })) });
  await data.change({ table: 'lines', operation: 'delete', rows: keys.slice(1).map((key) => ({ key })) });
  expect((await administrator.query('select task, line from lines')).rows).toEqual([{ task: 1, line: 1 }]);
});

test('a row is not deleted where some of its columns are outside the scope', async () => {
  const deleting = data.change({ table: 'tasks', operation: 'delete', rows: [{ key: { id: 1 } }] });
  await expect(deleting).rejects.toMatchObject({
    kind: 'refused',
    message: expect.stringContaining('not all of its columns are in scope'),
  });
  expect(await titles()).toEqual(['one', 'two']);
  const whole = createBusinessData({ source, gate, scope: { tables: ['tasks(id, title)', 'tasks'], readOnly: false } });
  await whole.change({ table: 'tasks', operation: 'delete', rows: [{ key: { id: 1 } }] });
  expect(await titles()).toEqual(['two']);
});

test('a change is made as a whole or not at all', async () => {
  const rows = [
    { key: { id: 1 }, values: { title: 'partial' } },
    { key: { id: 99 }, values: { title: 'no such row' } },
  ];
  await expect(data.change({ table: 'tasks', operation: 'update', rows })).rejects.toThrow('no row with this key');
  expect(await titles()).toEqual(['one', 'two']);
});

const refused: readonly (readonly [string, ChangeRequest])[] = [
  ['a column outside the scope', { table: 'tasks', operation: 'insert', rows: [{ values: { title: 'a', secret: 'b' } }] }],
  ['SQL in place of a name', { table: 'tasks', operation: 'insert', rows: [{ values: { 'title") values ($1); --': 'b' } }] }],
  ['a table outside the scope', { table: 'pg_authid', operation: 'delete', rows: [{ key: { id: 1 } }] }],
  ['part of a key', { table: 'lines', operation: 'delete', rows: [{ key: { task: 1 } }] }],
  ['no key', { table: 'lines', operation: 'delete', rows: [{}] }],
  ['more than the key', { table: 'lines', operation: 'delete', rows: [{ key: { task: 1, line: 1, text: 'one' } }] }],
  ['an empty key', { table: 'lines', operation: 'delete', rows: [{ key: { task: 1, line: null } }] }],
  ['a key that is not in scope', { table: 'notes', operation: 'update', rows: [{ key: { id: 1 }, values: { title: 'x' } }] }],
  ['a view', { table: 'task_titles', operation: 'insert', rows: [{ values: { title: 'x' } }] }],
  ['a computed column', { table: 'tasks', operation: 'insert', rows: [{ values: { title: 'x', size: 1 } }] }],
  ['no row', { table: 'lines', operation: 'delete', rows: [] }],
  ['too many rows', { table: 'lines', operation: 'delete', rows: Array.from({ length: 51 }, (_, line) => ({ key: { task: 1, line } })) }],
  [
    'half of a surrogate pair, which would be stored as another character',
    { table: 'tasks', operation: 'insert', rows: [{ values: { title: 'a\ud83d' } }] },
  ],
  ['a character that text cannot have', { table: 'tasks', operation: 'insert', rows: [{ values: { title: 'a\0b' } }] }],
];

test.each(refused)('%s is refused and changes nothing', async (_, request) => {
  await expect(data.change(request)).rejects.toMatchObject({ name: 'DataFailure', kind: 'refused' });
  expect(await titles()).toEqual(['one', 'two']);
});

test('of two tables of one name the one that was written is described and changed, in any order of the scope', async () => {
  await administrator.query('create schema other; create table other.notes (id integer primary key, remark text)');
  const later = createDataSource({ url: database.url }, () => undefined);
  try {
    const both = createBusinessData({ source: later, gate, scope: { tables: ['other.notes', 'notes'], readOnly: false } });
    expect((await both.describeTable('notes'))?.columns.map(({ name }) => name)).toEqual(['id', 'title']);
    const { rows } = await both.change({ table: 'notes', operation: 'insert', rows: [{ values: { id: 1, title: 'a' } }] });
    expect(rows).toEqual([[1, 'a']]);
  } finally {
    await later.close();
    await administrator.query('drop schema other cascade; truncate notes');
  }
});

test('a list for a column whose type is a domain over an array is written as an array', async () => {
  await administrator.query('create domain labels as text[]; create table marked (id integer primary key, labels labels)');
  const later = createDataSource({ url: database.url }, () => undefined);
  try {
    const marked = createBusinessData({ source: later, gate, scope: { tables: ['marked'], readOnly: false } });
    const { rows } = await marked.change({ table: 'marked', operation: 'insert', rows: [{ values: { id: 1, labels: ['a', 'b,c'] } }] });
    expect(rows).toEqual([[1, '{a,"b,c"}']]);
  } finally {
    await later.close();
    await administrator.query('drop table marked; drop domain labels');
  }
});

test('an insert that a trigger drops is not said to miss a row', async () => {
  await administrator.query(`
    create function drop_row() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger drop_row before insert on tasks for each row execute function drop_row()`);
  try {
    const inserting = data.change({ table: 'tasks', operation: 'insert', rows: [{ values: { title: 'three' } }] });
    await expect(inserting).rejects.toThrow('The data source did not take the row; nothing was changed.');
  } finally {
    await administrator.query('drop trigger drop_row on tasks; drop function drop_row()');
  }
});

test('a change whose row is too large to come back is not made, and the failure says so', async () => {
  const rows = [{ key: { id: 1 }, values: { tags: ['x'.repeat(1_000_000)] } }];
  await expect(data.change({ table: 'tasks', operation: 'update', rows }, { maxBytes: 8_000 })).rejects.toMatchObject({
    kind: 'failed',
    message: 'The result of the change is too large; nothing was changed.',
  });
  expect((await administrator.query('select tags from tasks order by id')).rows).toEqual([{ tags: null }, { tags: null }]);
});

test('an error of the database is reported without its text', async () => {
  const request: ChangeRequest = { table: 'tasks', operation: 'insert', rows: [{ values: { title: 'one' } }] };
  const failure = await data.change(request).catch((cause: unknown) => cause);
  expect(failure).toBeInstanceOf(DataFailure);
  expect(failure).toMatchObject({ kind: 'failed', message: 'There is a row with this key already. (23505)' });
});

/** Adds a trigger that does this work at commit. */
const addCommitTrigger = (work: string) =>
  administrator.query(`
    create function at_commit() returns trigger language plpgsql as $$ begin ${work}; return null; end $$;
    create constraint trigger at_commit after update on tasks deferrable initially deferred for each row execute function at_commit()`);
const removeCommitTrigger = () => administrator.query('drop trigger at_commit on tasks; drop function at_commit()');
const renaming: ChangeRequest = { table: 'tasks', operation: 'update', rows: [{ key: { id: 1 }, values: { title: 'renamed' } }] };

test('a change that fails at commit was not made', async () => {
  await addCommitTrigger("raise exception 'not this one'");
  await expect(data.change(renaming)).rejects.toMatchObject({ kind: 'failed' });
  await removeCommitTrigger();
  expect(await titles()).toEqual(['one', 'two']);
});

test('a caller that cancels during the commit learns that the change may have been made', async () => {
  await addCommitTrigger('perform pg_sleep(0.6)');
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 200);
  await expect(data.change(renaming, { signal: abort.signal })).rejects.toMatchObject({ kind: 'unknown' });
  await expect(data.change(renaming, { timeoutMs: 100 })).rejects.toMatchObject({ kind: expect.stringMatching(/failed|timeout/) });
  await removeCommitTrigger();
});

test('with a read-only scope there is no tool for changes, and changes are refused', async () => {
  const readOnly = createBusinessData({ source, gate, scope: { tables, readOnly: true } });
  expect(createTools(readOnly, { readOnly: true }).map(({ name }) => name)).toEqual(['list_tables', 'describe_table', 'query']);
  await expect(readOnly.change({ table: 'tasks', operation: 'delete', rows: [{ key: { id: 1 } }] })).rejects.toMatchObject({
    kind: 'refused',
  });
  expect(await titles()).toEqual(['one', 'two']);
});

test('the tools answer with a text for any input', async () => {
  const tools = Object.fromEntries(createTools(data, { readOnly: false }).map((tool) => [tool.name, tool]));
  const run = async (name: string, input: unknown) => (await tools[name]?.run(input))?.text;
  expect(await run('list_tables', {})).toContain('tasks(id, title, tags, facts, size)');
  expect(await run('describe_table', { table: 'tasks' })).toContain('- title: text, never empty\n- tags: text[]');
  expect(await run('describe_table', { table: 'pg_authid' })).toBe('There is no table "pg_authid" here.');
  expect(await run('query', { sql: 'select id, title from tasks order by id' })).toBe('id | title\n1 | one\n2 | two\n(2 rows)');
  expect(await run('query', { sql: 'select secret from tasks' })).toBe(
    'There is no column "secret" here. There are: tasks(id, title, tags, facts, size).',
  );
  expect(await run('query', { sql: 1 })).toContain('not valid');
  expect(await run('change', { table: 'tasks', operation: 'update', rows: [{ key: { id: 1 }, values: { title: 'uno' } }] })).toContain(
    '1 | uno',
  );
  expect(tools['change']?.writes).toBe(true);
});
