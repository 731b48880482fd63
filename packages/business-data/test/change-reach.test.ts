import { beforeEach, expect, test } from '@jest/globals';
import { createBusinessData } from '../src/business-data.ts';
import type { ChangeRequest } from '../src/change.ts';
import { createDataSource } from '../src/data-source.ts';
import { databaseOfFile } from './support/database.ts';
import { gate } from './support/gate.ts';

const database = databaseOfFile();

/** Every table refers to a parent; its name says how its rows follow. */
const schema = `
  create table parents (id integer primary key, code integer unique, name text, twice integer generated always as (id * 2) stored unique);
  insert into parents (id, code, name) values (1, 10, 'one'), (2, 20, 'two');
  create table cascading (id integer primary key, parent integer references parents on delete cascade, secret text default 'CANARY');
  create table further (id integer primary key, cascading integer references cascading on delete set null);
  create table emptied (id integer primary key, parent integer references parents on delete set null);
  create table defaulted (id integer primary key, parent integer default 2 references parents on delete set default);
  create table renamed (id integer primary key, code integer references parents (code) on update cascade);
  create table computed (id integer primary key, twice integer references parents (twice) on update cascade);
  create table careful (id integer primary key, parent integer references parents);
  insert into cascading values (1, 1); insert into further values (1, 1); insert into emptied values (1, 1); insert into defaulted values (1, 1);
  insert into renamed values (1, 10); insert into computed values (1, 2)`;
const tables = ['parents', 'cascading', 'further', 'emptied', 'defaulted', 'renamed', 'computed', 'careful'];

beforeEach(async () => {
  await database.administrator.query(`drop schema public cascade; create schema public; ${schema}`);
});

/** Opens a new source, so that the catalog is current. */
async function change(scope: readonly string[], request: ChangeRequest, url = database.url): Promise<string> {
  const source = createDataSource({ url }, () => undefined);
  try {
    const data = createBusinessData({ source, gate, scope: { tables: scope, readOnly: false } });
    return await data.change(request).then(
      () => 'done',
      (cause: unknown) => `${(cause as { kind: string }).kind}: ${(cause as Error).message}`,
    );
  } finally {
    await source.close();
  }
}

const deletion = (table: string, key: object = { id: 1 }): ChangeRequest => ({ table, operation: 'delete', rows: [{ key: { ...key } }] });
const setting = (table: string, values: object, key: object = { id: 1 }): ChangeRequest => ({
  table,
  operation: 'update',
  rows: [{ key: { ...key }, values: { ...values } }],
});
const deleteRefused = 'refused: Rows of parents cannot be deleted: foreign keys would change rows that are not in scope.';
const without = (left: string) => tables.filter((table) => table !== left);

async function contents(): Promise<unknown> {
  const all = tables.map((table) => `select '${table}' as "table", to_jsonb(t)::text as row from ${table} t`).join(' union all ');
  return (await database.administrator.query(`${all} order by 1, 2`)).rows;
}

test.each([
  ['deletes', 'cascading'],
  ['deletes rows and with them updates', 'further'],
  ['empties', 'emptied'],
  ['sets to its default', 'defaulted'],
])('a delete that %s rows of a table outside the scope is refused', async (_, left) => {
  const before = await contents();
  expect(await change(without(left), deletion('parents'))).toBe(deleteRefused);
  expect(await contents()).toEqual(before);
});

test('a delete that reaches a table of which one column is outside the scope is refused', async () => {
  const part = tables.map((table) => (table === 'cascading' ? 'cascading(id, parent)' : table));
  expect(await change(part, deletion('parents'))).toBe(deleteRefused);
});

test('a delete that reaches only tables with all columns in scope is made, with its effects', async () => {
  await database.administrator.query('delete from renamed; delete from computed');
  expect(await change(['parents', 'cascading', 'further', 'emptied', 'defaulted'], deletion('parents'))).toBe('done');
  const counts = await database.administrator.query(`select (select count(*)::int from cascading) as cascading,
    (select cascading from further) as further, (select parent from emptied) as emptied, (select parent from defaulted) as defaulted`);
  expect(counts.rows).toEqual([{ cascading: 0, further: null, emptied: null, defaulted: 2 }]);
});

test('a delete without effects is made, even if tables refer to its table', async () => {
  expect(await change(['further'], deletion('further'))).toBe('done');
  await database.administrator.query('drop table cascading, further, emptied, defaulted, renamed, computed');
  expect(await change(['parents'], deletion('parents'))).toBe('done');
});

test('an update of columns that other tables follow is refused unless all columns of these are in scope', async () => {
  await database.administrator.query('drop table computed');
  const refused = 'refused: "code" of parents cannot be changed: foreign keys would change rows that are not in scope.';
  expect(await change(['parents'], setting('parents', { code: 11 }))).toBe(refused);
  expect((await database.administrator.query('select code from renamed')).rows).toEqual([{ code: 10 }]);
  expect(await change(['parents'], setting('parents', { name: 'uno' }))).toBe('done');
  expect(await change(['parents', 'renamed'], setting('parents', { code: 11, name: 'x' }))).toBe('done');
  expect((await database.administrator.query('select code from renamed')).rows).toEqual([{ code: 11 }]);
});

test('a computed column that other tables follow changes with any column', async () => {
  expect(await change(['parents'], setting('parents', { name: 'uno' }))).toMatch(/^refused: "name" of parents cannot be changed/);
  expect(await change(['parents', 'computed'], setting('parents', { name: 'uno' }))).toBe('done');
});

test('an update is followed through several tables', async () => {
  await database.administrator.query(`
    create table a (id integer primary key);
    create table b (id integer primary key references a on update cascade, note text);
    create table c (id integer primary key, b integer references b on update cascade);
    insert into a values (1); insert into b values (1); insert into c values (1, 1)`);
  expect(await change(['a', 'b'], setting('a', { id: 3 }))).toMatch(/^refused/);
  expect(await change(['a', 'b', 'c'], setting('a', { id: 3 }))).toBe('done');
  expect((await database.administrator.query('select b from c')).rows).toEqual([{ b: 3 }]);
});

test('cycles between tables are followed only once', async () => {
  await database.administrator.query(`
    create table trees (id integer primary key, parent integer references trees on delete cascade, leaf integer, secret text);
    create table leaves (id integer primary key, tree integer references trees on delete cascade);
    alter table trees add foreign key (leaf) references leaves on delete set null;
    insert into trees values (1, null), (2, 1); insert into leaves values (1, 2)`);
  expect(await change(['trees'], deletion('trees'))).toMatch(/^refused/);
  expect(await change(['trees', 'leaves'], deletion('trees'))).toBe('done');
  expect((await database.administrator.query('select count(*)::int as count from leaves')).rows).toEqual([{ count: 0 }]);
});

test('partitions count as their parent, on both sides of a key', async () => {
  await database.administrator.query(`
    create table months (id integer, month integer, note text, primary key (id, month)) partition by list (month);
    create table month_1 partition of months for values in (1);
    create table month_2 partition of months for values in (2);
    create table lines (id integer, month integer, year integer, foreign key (id, month) references months on delete cascade) partition by list (year);
    create table lines_1 partition of lines for values in (1);
    create table remarks (id integer primary key, of_id integer, of_month integer, foreign key (of_id, of_month) references month_1 on delete cascade);
    create table owners (id integer primary key); create table owned (id integer, year integer) partition by list (year);
    create table owned_1 partition of owned for values in (1);
    alter table owned_1 add foreign key (id) references owners on delete cascade;
    insert into months values (1, 1), (2, 2); insert into lines values (1, 1, 1); insert into owners values (1); insert into owned values (1, 1)`);
  const key = { id: 1, month: 1 };
  expect(await change(['months', 'lines'], deletion('months', key))).toMatch(/^refused/);
  expect(await change(['months', 'remarks'], deletion('months', key))).toMatch(/^refused/);
  // Older servers move a row to another partition by deleting it.
  expect(await change(['months'], setting('months', { month: 2 }, key))).toMatch(/^refused/);
  expect(await change(['months'], setting('months', { note: 'x' }, key))).toBe('done');
  expect(await change(['months', 'lines', 'remarks'], deletion('months', key))).toBe('done');
  expect((await database.administrator.query('select from lines')).rows).toEqual([]);
  expect(await change(['owners'], deletion('owners'))).toMatch(/^refused/);
  expect(await change(['owners', 'owned'], deletion('owners'))).toBe('done');
});

test('rows of inheriting tables count with their own columns, and with tables that refer to them', async () => {
  await database.administrator.query(`
    create table plain (id integer primary key); create table same () inherits (plain); alter table same add primary key (id);
    create table base (id integer primary key); create table wider (secret text, primary key (id)) inherits (base);
    create table followers (id integer primary key, same integer references same on delete cascade);
    insert into same values (1); insert into wider values (1, 'CANARY'); insert into followers values (1, 1)`);
  expect(await change(['base'], deletion('base'))).toMatch(/^refused/);
  expect(await change(['base', 'wider'], deletion('base'))).toBe('done');
  expect(await change(['plain'], deletion('plain'))).toMatch(/^refused/);
  expect(await change(['plain', 'followers'], deletion('plain'))).toBe('done');
});

test('a table that the account cannot read in full never counts as in scope', async () => {
  const account = `account_${process.pid}`;
  await database.administrator.query(`
    drop table further, emptied, defaulted, renamed, computed, careful;
    create role ${account} login password 'secret'; grant usage on schema public to ${account};
    grant all on parents to ${account}; grant select (id, parent) on cascading to ${account}`);
  const url = new URL(database.url);
  [url.username, url.password] = [account, 'secret'];
  const asAccount = () => change(['parents', 'cascading'], deletion('parents'), url.href);
  try {
    expect(await asAccount()).toBe(deleteRefused);
    await database.administrator.query(`grant select on cascading to ${account}; alter table cascading enable row level security`);
    expect(await asAccount()).toBe(deleteRefused);
    expect((await database.administrator.query('select from cascading')).rowCount).toBe(1);
    await database.administrator.query('alter table cascading disable row level security');
    expect(await asAccount()).toBe('done');
  } finally {
    await database.administrator.query(`drop owned by ${account}; drop role ${account}`);
  }
});
