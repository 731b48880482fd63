import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createBusinessData } from '../src/business-data.ts';
import { createDataSource, type DataSource } from '../src/data-source.ts';
import type { Limits } from '../src/database/transaction.ts';
import { dropScopedRoles } from '../src/roles/drop-roles.ts';
import type { RoleNotice } from '../src/roles/roles.ts';
import { resolveScope } from '../src/scope/resolve-scope.ts';
import { gate } from './support/gate.ts';

const limits: Limits = { timeoutMs: 5_000, maxRows: 10, maxBytes: 10_000, timeZone: 'UTC' };
const tenant = 'org_a live';
const isRole = /^agent_scope_/;

let database: TestDatabase;
let administrator: pg.Client;
let clock = 0;
const opened: { source: DataSource; url: string }[] = [];
const notices: RoleNotice[] = [];

const accountOf = (name: string): string => `${new URL(database.url).pathname.slice(1)}_${name}`;

function urlOf(name: string): string {
  const url = new URL(database.url);
  [url.username, url.password] = [accountOf(name), 'secret'];
  return url.href;
}

beforeAll(async () => {
  database = await testDatabase();
  administrator = new pg.Client({ connectionString: database.url });
  await administrator.connect();
  const [reader, maker, owner] = ['reader', 'maker', 'owner'].map(accountOf);
  await administrator.query(`
    create table tasks (id integer primary key, title text, secret text default 'CANARY');
    insert into tasks values (1, 'one');
    create role ${reader} login password 'secret';
    create role ${maker} login password 'secret' createrole;
    create role ${owner} login password 'secret' createrole connection limit 40;
    alter role ${owner} set default_text_search_config = 'pg_catalog.german';
    grant select on tasks to ${reader}, ${maker};
    create schema own authorization ${owner};
    set role ${owner};
    create table own.things (id serial primary key, name text, secret text default 'CANARY');
    insert into own.things (name) values ('Häuser');
    reset role;`);
});

afterEach(async () => {
  const urls = new Set(opened.map(({ url }) => url));
  await Promise.all(opened.splice(0).map(({ source }) => source.close()));
  for (const url of urls) await dropScopedRoles({ url }, tenant);
  notices.length = 0;
});

afterAll(async () => {
  await administrator.end();
  await database.drop();
});

function open(url = database.url): DataSource {
  const settings = { url, catalogMaxAgeMs: -1, roles: { tenant, now: () => clock } };
  const source = createDataSource(settings, { onLost: () => undefined, onNotice: (notice) => void notices.push(notice) });
  opened.push({ source, url });
  return source;
}

async function userOf(source: DataSource, table: string, access: 'read only' | 'read write' = 'read only'): Promise<string> {
  const { scope, unknown } = resolveScope(await source.catalog(), { tables: [table], readOnly: access === 'read only' });
  if (unknown.length > 0) throw new Error(JSON.stringify(unknown));
  const { rows } = await source.within(scope).transaction(access, limits, (run) => run('select session_user'));
  return String(rows[0]?.[0]);
}

const reasons = () => notices.map(({ level, reason }) => [level, reason]);

test('an account that cannot make roles is used itself, which is reported once', async () => {
  const source = open(urlOf('reader'));
  for (const table of ['tasks', 'tasks(id)', 'tasks']) expect(await userOf(source, table)).toBe(accountOf('reader'));
  expect(reasons()).toEqual([['info', 'the account cannot make roles']]);
});

test('an account that cannot grant its rights leaves no role behind, and is checked again later', async () => {
  const source = open(urlOf('maker'));
  for (const _ of [1, 2]) expect(await userOf(source, 'tasks')).toBe(accountOf('maker'));
  expect(reasons()).toEqual([['warn', 'the account may not grant its privileges: it must own the tables, or have them with grant option']]);
  const { role } = notices[0] as RoleNotice;
  expect((await administrator.query('select from pg_roles where rolname = $1', [role])).rows).toEqual([]);
  await administrator.query(`grant select on tasks to ${accountOf('maker')} with grant option`);
  expect(await userOf(source, 'tasks')).toBe(accountOf('maker'));
  clock += 600_000;
  expect(await userOf(source, 'tasks')).toBe(role);
  expect(notices).toHaveLength(1);
});

test('an account that owns its tables and may make roles does not have to be a superuser', async () => {
  const source = open(urlOf('owner'));
  const data = createBusinessData({ source, gate, scope: { tables: ['own.things(id, name)'], readOnly: false } });
  // Settings of the account apply to its roles.
  const sql = `select to_tsvector(name)::text from own.things where to_tsvector(name) @@ to_tsquery('Haus')`;
  expect((await data.query(sql)).rows).toEqual([["'haus':1"]]);
  await data.change({ table: 'things', operation: 'insert', rows: [{ values: { name: 'x' } }] });
  const role = await userOf(source, 'own.things(id, name)');
  expect(role).toMatch(isRole);
  const { rows } = await administrator.query('select rolconnlimit from pg_roles where rolname = $1', [role]);
  expect([rows, notices]).toEqual([[{ rolconnlimit: 40 }], []]);
  expect(await dropScopedRoles({ url: urlOf('owner') }, tenant)).toEqual({ dropped: 2, left: 0 });
});

/** Objects with which correct statements have other rows or effects under another account. */
const obstacles: readonly (readonly [string, string, string, string])[] = [
  ['row security', 'tasks', 'different rows', 'alter table tasks enable row level security'],
  [
    'row security below a view',
    'shown',
    'row security',
    'create view shown as select id from tasks; alter table tasks enable row level security',
  ],
  [
    'a foreign table',
    'far',
    'different rows',
    'create foreign data wrapper nowhere; create server far foreign data wrapper nowhere; create foreign table far (id integer) server far',
  ],
  [
    'a foreign partition',
    'parts',
    'a foreign table',
    `create foreign data wrapper nowhere; create server far foreign data wrapper nowhere; create table parts (id integer) partition by list (id);
     create foreign table part_1 partition of parts for values in (1) server far`,
  ],
  [
    'a view with the rights of its caller',
    'shown',
    'different rows',
    'create view shown with (security_invoker = yes) as select id from tasks',
  ],
  [
    'a view below which there is one',
    'outer_view',
    'a view with the rights of its caller',
    'create view shown with (security_invoker) as select id from tasks; create view outer_view as select id from shown',
  ],
  [
    'a view that reads current_user',
    'shown',
    'depends on the account',
    'create view shown as select id from tasks where title = current_user',
  ],
  [
    'a view over information_schema',
    'shown',
    'depends on the account',
    'create view shown as select table_name::text as id from information_schema.tables',
  ],
  [
    'a view with a function that may read anything',
    'shown',
    'a view with user-defined functions',
    'create function titled(integer) returns text language plpgsql as $$ begin return (select title from tasks); end $$; create view shown as select titled(id) as id from tasks',
  ],
  [
    'a view with a function that is declared immutable but reads a table',
    'shown',
    'a view with user-defined functions',
    `create function titled(integer) returns text immutable language plpgsql as $$ begin return (select title from public.tasks where id = $1); end $$;
     create view shown as select titled(id) as id from tasks`,
  ],
  [
    'a view with a user-defined operator',
    'shown',
    'a view with user-defined functions',
    `create function twice(integer) returns integer immutable language sql as 'select 2 * $1';
     create operator @#@ (function = twice, rightarg = integer); create view shown as select @#@ id as id from tasks`,
  ],
  [
    'a view with a type whose check is a user-defined function',
    'shown',
    'a view with user-defined functions',
    `create function twice(integer) returns integer immutable language sql as 'select 2 * $1';
     create domain odd as integer check (twice(value) > 0); create domain odder as odd; create view shown as select id::odder as id from tasks`,
  ],
  [
    'a view with a user-defined aggregate',
    'shown',
    'a view with user-defined functions',
    'create aggregate total(integer) (sfunc = int4pl, stype = integer); create view shown as select total(id) as id from tasks',
  ],
  [
    'a view that runs SQL from an argument',
    'shown',
    'a view that runs SQL',
    `create view shown as select query_to_xml('select title from public.tasks', true, false, '')::text as id`,
  ],
  [
    'a view that reads a table by its name',
    'shown',
    'a view that runs SQL',
    `create view shown as select pg_catalog.table_to_xml('public.tasks', true, false, '')::text as id`,
  ],
  [
    'a view with a function that PUBLIC may not execute',
    'shown',
    'privileges that the role does not have',
    `create extension fuzzystrmatch; revoke execute on function soundex(text) from public;
     create view shown as select soundex(title) as id from tasks`,
  ],
];

test('an extension that only computes is no obstacle, and neither are columns of its types', async () => {
  await administrator.query(`create extension citext; create extension fuzzystrmatch;
    create view shown as select soundex(title) as id, title::citext as title from tasks where title::citext = 'ONE';
    create table worked (id citext primary key, note citext check (note <> ''))`);
  const source = open();
  expect([await userOf(source, 'shown'), await userOf(source, 'worked', 'read write')]).toEqual([
    expect.stringMatching(isRole),
    expect.stringMatching(isRole),
  ]);
  expect(notices).toEqual([]);
  await administrator.query('drop table worked; drop view shown; drop extension citext, fuzzystrmatch');
});

test('a source without a password gets no roles, because their passwords could be guessed, which is reported once', async () => {
  const url = new URL(database.url);
  url.password = '';
  const source = open(url.href);
  for (const table of ['tasks', 'tasks(id)', 'tasks']) expect(await userOf(source, table)).toBe('postgres');
  expect(reasons()).toEqual([['info', 'the account has no password, from which the passwords of its roles are derived']]);
});

test('the account is used where PUBLIC may not execute functions that statements call', async () => {
  await administrator.query('revoke execute on function pg_catalog.lower(text) from public');
  const source = open();
  expect(await userOf(source, 'tasks')).toBe('postgres');
  await administrator.query('grant execute on function pg_catalog.lower(text) to public');
  expect(reasons()).toEqual([['warn', 'EXECUTE on a function that statements may use is revoked from PUBLIC']]);
});

test('a role that could not be made because of a lock is tried again after 30 seconds', async () => {
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  await other.query('begin; select pg_advisory_xact_lock(7120331)');
  const source = open();
  expect(await userOf(source, 'tasks')).toBe('postgres');
  await other.query('rollback');
  await other.end();
  expect(reasons()).toEqual([['warn', 'the role could not be created (55P03)']]);
  clock += 30_000;
  expect(await userOf(source, 'tasks')).toMatch(isRole);
});

test.each(obstacles)('%s: the account is used, which is reported once', async (_, table, reason, setUp) => {
  await administrator.query(setUp);
  try {
    const source = open();
    expect(await userOf(source, 'tasks(secret)')).toMatch(setUp.includes('row level') ? /./ : isRole);
    notices.length = 0;
    for (const __ of [1, 2]) expect(await userOf(source, table)).toBe('postgres');
    expect(notices).toEqual([
      expect.objectContaining({ level: 'warn', event: 'data_source_role_not_used', reason: expect.stringContaining(reason) }),
    ]);
  } finally {
    await tearDown();
  }
});

const tearDown = () =>
  administrator.query(`
    alter table tasks disable row level security;
    drop view if exists outer_view, shown; drop table if exists parts; drop extension if exists fuzzystrmatch;
    drop domain if exists odder, odd; drop operator if exists @#@ (none, integer); drop aggregate if exists total(integer);
    drop function if exists titled, twice;
    drop foreign data wrapper if exists nowhere cascade`);

test('row security that is enabled later ends the use of the role at once', async () => {
  const source = open();
  expect(await userOf(source, 'tasks')).toMatch(isRole);
  await administrator.query('alter table tasks enable row level security');
  expect(await userOf(source, 'tasks')).toBe('postgres');
  await tearDown();
  expect(await userOf(source, 'tasks')).toMatch(isRole);
});

const sideEffects: readonly (readonly [string, string])[] = [
  [
    'a trigger',
    `create function noted() returns trigger language plpgsql as $$ begin new.note := current_user; return new; end $$;
     create table worked (id integer primary key, note text); create trigger noted before insert on worked for each row execute function noted()`,
  ],
  ['a rule', 'create table worked (id integer primary key); create rule noted as on insert to worked do also select current_user'],
  ['a default', 'create table worked (id integer primary key, note text default current_user)'],
  [
    'a check with a function',
    `create function sound(integer) returns boolean language plpgsql as $$ begin return exists (select from tasks); end $$;
     create table worked (id integer primary key check (sound(id)))`,
  ],
  [
    'an index over a user-defined function',
    `create function sound(integer) returns boolean immutable language plpgsql as $$ begin return exists (select from public.tasks); end $$;
     create table worked (id integer primary key); create index on worked (sound(id))`,
  ],
  [
    'a type whose check is a function',
    `create function sound(integer) returns boolean language plpgsql as $$ begin return exists (select from public.tasks); end $$;
     create domain sound_number as integer check (sound(value)); create table worked (id integer primary key, note sound_number)`,
  ],
  [
    'a type whose check reads current_user',
    `create domain mine as text check (value = current_user); create table worked (id integer primary key, note mine)`,
  ],
];

test.each(sideEffects)('with %s that may depend on the account, changes use the account and reading uses the role', async (_, setUp) => {
  await administrator.query(setUp);
  try {
    const source = open();
    expect([await userOf(source, 'worked', 'read write'), await userOf(source, 'worked')]).toEqual([
      'postgres',
      expect.stringMatching(isRole),
    ]);
  } finally {
    await administrator.query('drop table worked; drop domain if exists sound_number, mine; drop function if exists noted, sound');
  }
});
