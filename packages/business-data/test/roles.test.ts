import { type TestDatabase, testDatabase, until } from '@agent-service/testkit';
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
const isRole = /^agent_scope_[0-9a-f]{16}_[0-9a-f]{24}$/;

let database: TestDatabase;
let administrator: pg.Client;
let clock = 0;
const opened: DataSource[] = [];
const notices: RoleNotice[] = [];

beforeAll(async () => {
  database = await testDatabase();
  administrator = new pg.Client({ connectionString: database.url });
  await administrator.connect();
  await administrator.query(`
    create table tasks (id serial primary key, title text, secret text default 'CANARY');
    insert into tasks (title) values ('one');
    create table others (id integer primary key, name text)`);
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((source) => source.close()));
  for (const one of [tenant, 'org_b live']) await dropScopedRoles({ url: database.url }, one);
  notices.length = 0;
});

afterAll(async () => {
  await administrator.end();
  await database.drop();
});

/** A source as a worker opens it. Its catalog is read before each statement, and its clock is that of the test. */
function open({ of = tenant, url = database.url, poolMax = 3 } = {}): DataSource {
  const settings = { url, poolMax, catalogMaxAgeMs: -1, queueTimeoutMs: 20_000, roles: { tenant: of, now: () => clock } };
  const source = createDataSource(settings, { onLost: () => undefined, onNotice: (notice) => void notices.push(notice) });
  opened.push(source);
  return source;
}

/** Runs a statement that did not pass the statement gate. */
async function run(source: DataSource, tables: readonly string[], text: string, access: 'read only' | 'read write' = 'read only') {
  const { scope } = resolveScope(await source.catalog(), { tables, readOnly: access === 'read only' });
  return await source.within(scope).transaction(access, limits, (one) => one(text));
}

const userOf = async (source: DataSource, tables: readonly string[], access: 'read only' | 'read write' = 'read only') =>
  (await run(source, tables, 'select session_user', access)).rows[0]?.[0];

const rolesOf = async () =>
  (
    await administrator.query<{ rolname: string }>(`select rolname from pg_roles where rolname like 'agent\\_scope\\_%' and rolname in
     (select pg_get_userbyid(refobjid) from pg_shdepend where dbid = (select oid from pg_database where datname = current_database()))`)
  ).rows.map(({ rolname }) => rolname);

test('each scope logs in as its own role, one for reading and one for changing, and tenants share none', async () => {
  const [source, other] = [open(), open({ of: 'org_b live' })];
  const users = [
    await userOf(source, ['tasks(id, title)']),
    await userOf(source, ['tasks(id)']),
    await userOf(source, ['tasks(id, title)'], 'read write'),
    await userOf(other, ['tasks(id, title)']),
  ];
  for (const user of users) expect(user).toMatch(isRole);
  expect(new Set(users).size).toBe(4);
  expect(await userOf(open(), ['tasks(id, title)'])).toBe(users[0]);
  expect(notices).toEqual([]);
});

test('a statement that passes the other gates reads nothing outside the scope and does not leave the role', async () => {
  const source = open();
  const tables = ['tasks(id, title)'];
  for (const text of [
    'select secret from public.tasks',
    'select * from public.others',
    'select count(*) from pg_catalog.pg_authid',
    'set role postgres',
    'set session authorization default; ',
  ]) {
    clock += 60_000;
    if (text.startsWith('set session')) await run(source, tables, text.replace('; ', ''));
    else
      await expect(run(source, tables, text)).rejects.toMatchObject({
        kind: 'failed',
        message: expect.not.stringMatching(/secret|others|authid/),
      });
    expect(await userOf(source, tables)).toMatch(isRole);
  }
  const denied = notices.filter(({ event }) => event === 'data_source_role_denied');
  expect(denied.length).toBeGreaterThan(0);
  expect(JSON.stringify(notices)).not.toMatch(/secret|others|select/);
  expect(notices).toEqual(denied);
});

test('the role for changing inserts with defaults from sequences, updates and deletes, and has no other right', async () => {
  await administrator.query(`
    create sequence loose;
    create table numbered (a serial, b integer generated always as identity, c integer default nextval('loose'), id text primary key,
      twice text generated always as (id || id) stored, secret text default 'CANARY')`);
  const source = open();
  const data = createBusinessData({ source, gate, scope: { tables: ['numbered(a, b, c, id, twice)', 'tasks'], readOnly: false } });
  const inserted = await data.change({ table: 'numbered', operation: 'insert', rows: [{ values: { id: 'x' } }, { values: { id: 'y' } }] });
  expect(inserted.rows).toEqual([
    [1, 1, 1, 'x', 'xx'],
    [2, 2, 2, 'y', 'yy'],
  ]);
  await data.change({ table: 'numbered', operation: 'update', rows: [{ key: { id: 'x' }, values: { id: 'z' } }] });
  const added = await data.change({ table: 'tasks', operation: 'insert', rows: [{ values: { title: 'two' } }] });
  const key = { id: added.rows[0]?.[0] };
  await data.change({ table: 'tasks', operation: 'delete', rows: [{ key }] });
  const { rows } = await administrator.query('select id, secret from numbered order by id');
  expect(rows).toEqual([
    { id: 'y', secret: 'CANARY' },
    { id: 'z', secret: 'CANARY' },
  ]);
  const scope = ['numbered(a, b, c, id, twice)', 'tasks'];
  for (const text of [
    `update public.numbered set secret = 'x'`,
    'delete from public.numbered',
    'drop table public.tasks',
    'create table public.x ()',
  ])
    await expect(run(source, scope, text, 'read write')).rejects.toThrow('does not permit');
  // The role for reading has no right to write, even in a writing transaction.
  const { scope: readable } = resolveScope(await source.catalog(), { tables: scope, readOnly: false });
  const writing = source.within(readable).transaction('read only', limits, async (one) => {
    await one('set transaction read write');
    return await one(`update public.numbered set id = 'w'`);
  });
  await expect(writing).rejects.toThrow('does not permit');
  expect(notices.map(({ event }) => event)).toEqual(['data_source_role_denied', 'data_source_role_denied']);
  await administrator.query('drop table numbered; drop sequence loose');
});

test('answers of several workers at once make a role only once', async () => {
  const workers = [open(), open(), open()];
  const requests = workers.flatMap((source) => Array.from({ length: 8 }, () => userOf(source, ['tasks(title)'])));
  const users = await Promise.all(requests);
  expect(new Set(users).size).toBe(1);
  expect(await rolesOf()).toEqual([users[0]]);
  expect(notices).toEqual([]);
});

test('all roles of a source together have at most as many connections as one account', async () => {
  const url = new URL(database.url);
  const source = open({ poolMax: 2, url: url.href });
  const scopes = [['tasks'], ['tasks(id)'], ['tasks(title)'], ['others'], ['others(id)'], ['tasks', 'others']];
  const requests = scopes.flatMap((tables) => [1, 2, 3].map(() => userOf(source, tables)));
  expect(new Set(await Promise.all(requests)).size).toBe(scopes.length);
  // Before idle connections are closed.
  await until(async () => (await connections()) <= 2, 3_000);
});

async function connections(): Promise<number> {
  const { rows } = await administrator.query<{ count: string }>(
    'select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  return Number(rows[0]?.count);
}

test('a caller that cancels while a role is made returns at once, and the next caller gets the role', async () => {
  const source = open();
  const { scope } = resolveScope(await source.catalog(), { tables: ['tasks'], readOnly: true });
  const blocker = new pg.Client({ connectionString: database.url });
  await blocker.connect();
  await blocker.query('begin; select pg_advisory_xact_lock(7120331)');
  const leaving = new AbortController();
  const request = source.within(scope).transaction('read only', { ...limits, signal: leaving.signal }, (one) => one('select 1'));
  await until(async () => (await connections()) === 2);
  leaving.abort();
  await expect(request).rejects.toMatchObject({ kind: 'cancelled' });
  await blocker.query('rollback');
  await blocker.end();
  expect(await userOf(source, ['tasks'])).toMatch(isRole);
});

const roleOf = async (source: DataSource, tables: readonly string[]): Promise<string> => String(await userOf(source, tables));

test('a role that was dropped is made again, with and without open sessions', async () => {
  const source = open();
  const role = await roleOf(source, ['tasks']);
  for (const isLoggedIn of [true, false]) {
    clock += 60_000;
    if (!isLoggedIn) await administrator.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = $1', [role]);
    await administrator.query(`drop owned by "${role}"; drop role "${role}"`);
    expect((await run(source, ['tasks'], 'select title from public.tasks')).rows).toEqual([['one']]);
    expect(await roleOf(source, ['tasks'])).toBe(role);
  }
  expect(notices).toEqual([]);
});

test('a worker logs in again as a role that another worker made again', async () => {
  const source = open();
  const role = await roleOf(source, ['tasks']);
  await administrator.query(`drop owned by "${role}"; drop role "${role}"`);
  expect(await roleOf(open(), ['tasks'])).toBe(role);
  clock += 60_000;
  expect((await run(source, ['tasks'], 'select title from public.tasks')).rows).toEqual([['one']]);
  expect(notices).toEqual([]);
});

test('a missing right is granted again, and an additional right is removed', async () => {
  const source = open();
  const role = await roleOf(source, ['tasks']);
  await administrator.query(`revoke select (title) on tasks from "${role}"`);
  const read = () => run(source, ['tasks'], 'select title from public.tasks');
  expect((await read()).rows).toEqual([['one']]);
  // Also shortly after the last check: a nightly load may drop and create its table several times.
  for (const _ of [1, 2]) {
    await administrator.query(`revoke select (title) on tasks from "${role}"`);
    expect((await read()).rows).toEqual([['one']]);
  }
  expect(notices).toEqual([]);
  const others = 'select * from public.others';
  for (const [more, statement] of [
    ['grant select on others', others],
    ['grant pg_read_all_data', 'set role pg_read_all_data'],
    ['grant select on others, tasks', others],
  ] as const) {
    await administrator.query(`${more} to "${role}"`);
    expect((await run(source, ['tasks'], statement)).rows).toEqual([]);
    clock += 600_000;
    expect(await roleOf(source, ['tasks'])).toBe(role);
    await expect(run(source, ['tasks'], statement)).rejects.toThrow('does not permit');
  }
  const { rows } = await administrator.query(`select from pg_auth_members where member = '"${role}"'::regrole`);
  expect(rows).toEqual([]);
});

test('a table that is created again just after the check of the role can be read, and no denial is reported', async () => {
  const load = `drop table if exists loaded; create table loaded as select 1 as id`;
  await administrator.query(load);
  const source = open();
  const role = await roleOf(source, ['loaded']);
  for (const _ of [1, 2]) {
    await administrator.query(load);
    expect((await run(source, ['loaded'], 'select id, session_user from public.loaded')).rows).toEqual([['1', role]]);
  }
  expect(notices).toEqual([]);
  await administrator.query('drop table loaded');
});

test('any number of denials cause at most one check of the role every half second', async () => {
  const source = open();
  await roleOf(source, ['tasks(id)']);
  const denied = () => expect(run(source, ['tasks(id)'], 'select secret from public.tasks')).rejects.toThrow('does not permit');
  const began = performance.now();
  for (const _ of [1, 2, 3]) await Promise.all([denied(), denied(), denied()]);
  expect(performance.now() - began).toBeGreaterThan(1_400);
});

test('roles that were not used for a week are dropped, and those of other tenants are not', async () => {
  const [mine, theirs] = [open(), open({ of: 'org_b live' })];
  const stale = await roleOf(mine, ['tasks(id)']);
  const recent = await roleOf(mine, ['tasks(title)']);
  const foreign = await roleOf(theirs, ['tasks(id)']);
  await usedDaysAgo(stale, 8);
  await usedDaysAgo(recent, 6);
  await usedDaysAgo(foreign, 8);
  const role = await roleOf(mine, ['tasks']);
  await mine.close();
  opened.splice(opened.indexOf(mine), 1);
  expect((await rolesOf()).sort()).toEqual([recent, foreign, role].sort());
  expect(await commentOf(role)).toContain(
    `Last used on ${(await administrator.query<{ day: string }>(`select (now() at time zone 'UTC')::date::text as day`)).rows[0]?.day}`,
  );
  // The day is updated when the role is used.
  expect(await roleOf(open(), ['tasks(title)'])).toBe(recent);
  expect(await commentOf(recent)).toBe(await commentOf(role));
});

const commentOf = async (role: string): Promise<string> =>
  (await administrator.query<{ text: string }>(`select shobj_description($1::regrole, 'pg_authid') as text`, [`"${role}"`])).rows[0]
    ?.text ?? '';

async function usedDaysAgo(role: string, days: number): Promise<void> {
  const { rows } = await administrator.query<{ day: string }>(`select ((now() at time zone 'UTC')::date - $1::integer)::text as day`, [
    days,
  ]);
  const text = (await commentOf(role)).replace(/\d{4}-\d\d-\d\d/, rows[0]?.day ?? '');
  await administrator.query(`comment on role "${role}" is '${text}'`);
}

test('a tenant has at most 100 roles; roles that were not used today are dropped first', async () => {
  const source = open();
  const family = (await roleOf(source, ['tasks(id)'])).slice(0, 'agent_scope_'.length + 17);
  const comment = (day: string) => (text: string) => text.replace(/\d{4}-\d\d-\d\d/, day);
  const text = comment('2026-01-01')(await commentOf(await roleOf(source, ['tasks(id)'])));
  const others = Array.from({ length: 99 }, (_, index) => `"${family}${index}"`);
  await administrator.query(others.map((role) => `create role ${role}; comment on role ${role} is '${text}'`).join('; '));
  expect(await userOf(source, ['tasks'])).toBe('postgres');
  expect(notices.map(({ reason }) => reason)).toEqual([
    'this tenant has 100 roles already; a role is created when an unused one has been dropped',
  ]);
  await until(
    async () => (await administrator.query(`select from pg_roles where starts_with(rolname::text, $1)`, [family])).rowCount === 80,
  );
  clock += 30_000;
  expect(await userOf(source, ['tasks'])).toMatch(isRole);
});

test('a role that owns an object is not dropped, and neither is the object', async () => {
  const source = open();
  const role = await roleOf(source, ['others']);
  await administrator.query(`create table owned (id integer); alter table owned owner to "${role}"`);
  clock += 600_000;
  expect(await userOf(source, ['others'])).toBe('postgres');
  expect(await dropScopedRoles({ url: database.url }, tenant)).toEqual({ dropped: 0, left: 1 });
  await administrator.query('drop table owned');
});

test('the roles of a tenant are dropped with its data source, and no others', async () => {
  const [mine, theirs] = [open(), open({ of: 'org_b live' })];
  await roleOf(mine, ['tasks(id)']);
  await roleOf(mine, ['tasks']);
  const foreign = await roleOf(theirs, ['tasks']);
  expect(await dropScopedRoles({ url: database.url }, tenant)).toEqual({ dropped: 2, left: 0 });
  expect(await dropScopedRoles({ url: database.url }, tenant)).toEqual({ dropped: 0, left: 0 });
  expect(await rolesOf()).toEqual([foreign]);
});

test('a role has only the login attribute, and the database stores only a verifier of its password', async () => {
  const role = await roleOf(open(), ['tasks']);
  const { rows } = await administrator.query<Record<string, unknown>>('select * from pg_authid where rolname = $1', [role]);
  expect(rows[0]).toMatchObject({ rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolinherit: false, rolbypassrls: false });
  expect(rows[0]?.['rolpassword']).toMatch(/^SCRAM-SHA-256\$/);
});
