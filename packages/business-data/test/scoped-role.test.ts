import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createBusinessData } from '../src/business-data.ts';
import type { ResolvedScope } from '../src/domain/scope.ts';
import { resolveScope } from '../src/scope.ts';
import { createDataSource, type DataSource } from '../src/source/data-source.ts';
import { dropScopedRole, ensureScopedRole, type ScopedRole } from '../src/source/scoped-role.ts';

const secret = 'of this test alone';
let database: TestDatabase;
let administrator: pg.Client;
let source: DataSource;

beforeAll(async () => {
  database = await testDatabase();
  administrator = new pg.Client({ connectionString: database.url });
  await administrator.connect();
  await administrator.query(`create table tasks (id serial primary key, title text, secret text default 'CANARY')`);
  await administrator.query(`insert into tasks (title) values ('one')`);
  source = createDataSource({ url: database.url }, () => undefined);
});

afterAll(async () => {
  await source.close();
  await administrator.end();
  await database.drop();
});

const scopeOf = async (readOnly: boolean, ...tables: string[]): Promise<ResolvedScope> =>
  resolveScope(await source.catalog(), { tables, readOnly }).scope;

function made(role: ScopedRole): Extract<ScopedRole, { made: true }> {
  if (!role.made) throw new Error(role.reason);
  return role;
}

test('any number of processes come to the same role, which works through the gates and goes without a trace', async () => {
  const scope = await scopeOf(true, 'tasks(id, title)');
  const administratorSettings = { url: database.url };
  const roles = await Promise.all([1, 2, 3, 4].map(() => ensureScopedRole({ administrator: administratorSettings, scope, secret })));
  const [first] = roles.map(made);
  expect(new Set(roles.map((role) => made(role).settings.url)).size).toBe(1);
  const own = createDataSource(first?.settings ?? administratorSettings, () => undefined);
  const data = createBusinessData({ source: own, scope: { tables: ['tasks'], readOnly: true } });
  // Its catalogue is already no more than its grants.
  expect((await data.query('select * from tasks')).rows).toEqual([[1, 'one']]);
  await own.close();
  await dropScopedRole(administratorSettings, first?.name ?? '');
  await dropScopedRole(administratorSettings, first?.name ?? '');
  const { rows } = await administrator.query(`select from pg_roles where rolname = $1`, [first?.name]);
  expect(rows).toEqual([]);
});

test('a role for writing can change what is in scope and nothing else', async () => {
  const scope = await scopeOf(false, 'tasks(id, title)');
  const role = made(await ensureScopedRole({ administrator: { url: database.url }, scope, secret }));
  const own = createDataSource(role.settings, () => undefined);
  try {
    const data = createBusinessData({ source: own, scope: { tables: ['tasks(id, title)'], readOnly: false } });
    await data.change({ table: 'tasks', operation: 'insert', rows: [{ values: { title: 'two' } }] });
    await data.change({ table: 'tasks', operation: 'update', rows: [{ key: { id: 2 }, values: { title: 'zwei' } }] });
    const { rows } = await administrator.query<{ title: string; secret: string }>('select title, secret from tasks order by id');
    expect(rows).toEqual([
      { title: 'one', secret: 'CANARY' },
      { title: 'zwei', secret: 'CANARY' },
    ]);
    const limits = { timeoutMs: 1_000, maxRows: 1, maxBytes: 1_000, timeZone: 'UTC' };
    await expect(own.transaction('read write', limits, (run) => run(`update tasks set secret = 'x'`))).rejects.toThrow();
    for (const text of ['update public.tasks set title = secret', 'delete from public.tasks where id = 1'])
      await expect(own.transaction('read write', limits, (run) => run(text))).rejects.toThrow('does not permit');
  } finally {
    await own.close();
    await dropScopedRole({ url: database.url }, role.name);
  }
});

test('another scope is another role; its password stands in no log of the database', async () => {
  const [narrow, wide] = [await scopeOf(true, 'tasks(id)'), await scopeOf(true, 'tasks')];
  const roles = [made(await ensureScopedRole({ administrator: { url: database.url }, scope: narrow, secret }))];
  roles.push(made(await ensureScopedRole({ administrator: { url: database.url }, scope: wide, secret })));
  expect(new Set(roles.map(({ name }) => name)).size).toBe(2);
  const { rows } = await administrator.query<{ rolpassword: string }>('select rolpassword from pg_authid where rolname = $1', [
    roles[0]?.name,
  ]);
  expect(rows[0]?.rolpassword).toMatch(/^SCRAM-SHA-256\$/);
  for (const { name } of roles) await dropScopedRole({ url: database.url }, name);
});

test('an account that may not make roles is told so, and the other gates stand alone', async () => {
  const scope = await scopeOf(true, 'tasks(id)');
  const role = made(await ensureScopedRole({ administrator: { url: database.url }, scope, secret }));
  const other = await ensureScopedRole({ administrator: role.settings, scope: await scopeOf(true, 'tasks'), secret });
  expect(other.made).toBe(false);
  await dropScopedRole({ url: database.url }, role.name);
});
