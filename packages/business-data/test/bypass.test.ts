import { randomUUID } from 'node:crypto';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { type BusinessData, createBusinessData } from '../src/business-data.ts';
import { createDataSource, type DataSource } from '../src/data-source.ts';
import { gate } from './support/gate.ts';

/** Names that PostgreSQL reads as functions or types applied to a row or a value; each of them once passed the gates. */
const stealing = 'select array_to_tsvector(array_agg(token)) from public.api_tokens';

const bypasses: readonly (readonly [string, string])[] = [
  ['a field of a literal', `select ('${stealing}'::text).ts_stat as ts_stat`],
  ['an alias on a CTE', `with ts_stat as (select '${stealing}'::text as q) select (q).ts_stat from ts_stat`],
  ['an alias on VALUES', `select (v.q).ts_stat from (values ('${stealing}'::text)) as v(q), (values (1)) as ts_stat(n)`],
  ['an alias on a column', `select (q).ts_stat, 1 as ts_stat from (select '${stealing}'::text as q) s`],
  [
    'the name of a window',
    `select (q).ts_stat, count(*) over ts_stat from (select '${stealing}'::text as q) s window ts_stat as (order by q)`,
  ],
  ['a lateral subquery', `select l.* from (select '${stealing}'::text as q) s, lateral (select (s.q).ts_stat as ts_stat) l`],
  ['a quoted name', `select ('${stealing}'::text)."ts_stat" as "ts_stat"`],
  ['a Unicode name', `select ('${stealing}'::text).U&"ts\\005fstat" as ts_stat`],
  ['a function in FROM', `select ts_stat.ts_stat from concat('${stealing}') as ts_stat(q)`],
  ['a whole row of one column', `select q.ts_stat from unnest(array['${stealing}'::text]) as q, (select 1 as ts_stat) s`],
  ['ORDER BY', `select 1 as ts_stat from (select '${stealing}'::text as q) s order by (q).ts_stat`],
  ['a filter', `select count(*) filter (where (q).ts_stat is not null) as ts_stat from (select '${stealing}'::text as q) s`],
  ['a subquery', `select (select (s.q).ts_stat from notes limit 1) as ts_stat from (select '${stealing}'::text as q) s`],
  ['pg_sleep', 'select (5).pg_sleep as pg_sleep'],
  ['pg_sleep on a column', 'select (seconds).pg_sleep from (select 5::double precision as seconds) pg_sleep'],
  ['an advisory lock of the session', 'select (id).pg_advisory_lock from notes pg_advisory_lock'],
  ['ending another session', 'select (pid).pg_terminate_backend from (select 1 as pid) pg_terminate_backend'],
  ['looking up a table', "select ('api_tokens'::text).to_regclass as to_regclass"],
  ['a cast to a type that looks names up', "select ('api_tokens'::text).regclass as regclass"],
  ['a function of a row', 'select n.pg_column_size as pg_column_size from notes n'],
  ['a type of a row', 'select n.text as text from notes n'],
  ['a column of the table outside the scope', 'select n.secret as secret from notes n'],
  ['a system column', 'select n.ctid as ctid from notes n'],
  [
    'a SEARCH column that a star leaves out',
    'with recursive r(n) as (select 1 union all select n + 1 from r where n < 2) search depth first by n set pg_typeof select q.pg_typeof from (select * from r) q',
  ],
];

let database: TestDatabase;
let administrator: pg.Client;
let source: DataSource;
let data: BusinessData;
const account = `account_${randomUUID().replaceAll('-', '')}`;

beforeAll(async () => {
  database = await testDatabase();
  administrator = new pg.Client({ connectionString: database.url });
  await administrator.connect();
  await administrator.query(`
    create role ${account} login password 'account' nosuperuser nocreaterole;
    create table notes (id bigint primary key, body text, secret text);
    create table api_tokens (id bigint primary key, token text);
    insert into notes values (1, 'hello', 'hidden secret');
    insert into api_tokens values (1, 'token-outside-the-scope');
    grant select on notes, api_tokens to ${account};`);
  const url = new URL(database.url);
  [url.username, url.password] = [account, 'account'];
  source = createDataSource({ url: url.href }, () => undefined);
  data = createBusinessData({ source, gate, scope: { tables: ['notes(id, body)'], readOnly: true } });
});

afterAll(async () => {
  await source.close();
  await administrator.query(`drop owned by ${account}; drop role ${account}`);
  await administrator.end();
  await database.drop();
});

test('the account itself may read the table outside the scope', async () => {
  const rows = await source.transaction('read only', { timeoutMs: 2_000, maxRows: 10, maxBytes: 10_000, timeZone: 'UTC' }, (run) =>
    run("select word from ts_stat('select array_to_tsvector(array_agg(token)) from public.api_tokens')"),
  );
  expect(rows.rows).toEqual([['token-outside-the-scope']]);
});

test.each(bypasses)('a name that PostgreSQL would read as a function is refused: %s', async (_, statement) => {
  await expect(data.query(statement)).rejects.toMatchObject({ kind: 'refused' });
  const { rows } = await administrator.query(
    "select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())",
  );
  expect(rows).toEqual([]);
});

test('the same names pass as names of columns', async () => {
  const { rows } = await data.query(
    'with ts_stat(pg_sleep) as (select body from notes) select ts_stat.pg_sleep, q.version from ts_stat, (values (1)) as q(version)',
  );
  expect(rows).toEqual([['hello', 1]]);
});
