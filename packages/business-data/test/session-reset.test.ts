import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { createDataSource } from '../src/data-source.ts';
import type { Transactions } from '../src/database/transaction.ts';
import { resolveScope } from '../src/scope/resolve-scope.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
  await administer('create table public.orders (id integer primary key)');
});
afterAll(() => database?.drop());

async function administer(text: string): Promise<void> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(text);
  await client.end();
}

const limits = { timeoutMs: 5_000, maxRows: 100, maxBytes: 100_000, timeZone: 'UTC' };
const run = (on: Transactions, access: 'read only' | 'read write', text: string) =>
  on.transaction(access, limits, (runText) => runText(text));

/** Statements that leave state in a session; none would pass the statement gate. */
const statefulStatements = [
  'select pg_catalog.pg_advisory_lock(4711)',
  "select pg_catalog.set_config('work_mem', '77MB', false), pg_catalog.set_config('my.mark', 'left', false)",
  "select pg_catalog.set_config('role', 'pg_read_all_data', false)",
  'create temporary table orders (id integer, left_behind integer)',
  'prepare left_behind as select 1',
  'declare left_behind cursor with hold for select 1',
  'listen left_behind',
];

const readState = `select pg_catalog.pg_backend_pid()::text as pid, array[
    (select pg_catalog.count(*) from pg_catalog.pg_locks where locktype = 'advisory' and pid = pg_catalog.pg_backend_pid()),
    (select pg_catalog.count(*) from pg_catalog.pg_settings where name = 'work_mem' and setting = '78848'),
    (select case when coalesce(pg_catalog.current_setting('my.mark', true), '') <> '' then 1 else 0 end),
    (select case when current_user <> session_user then 1 else 0 end),
    (select pg_catalog.count(*) from pg_catalog.pg_class where relpersistence = 't' and relname = 'orders'),
    (select pg_catalog.count(*) from pg_catalog.pg_prepared_statements),
    (select pg_catalog.count(*) from pg_catalog.pg_cursors where is_holdable),
    (select pg_catalog.count(*) from pg_catalog.pg_listening_channels())
  ]::text as left, pg_catalog.current_setting('client_connection_check_interval') as noticing`;

test.each(['read only', 'read write'] as const)('a %s transaction leaves no state in its session', async (access) => {
  const source = createDataSource({ url: database.url, poolMax: 1 }, () => undefined);
  try {
    const [before] = (await run(source, 'read only', readState)).rows;
    for (const statement of statefulStatements) {
      await run(source, access, statement).catch(() => undefined);
      expect([statement, (await run(source, 'read only', readState)).rows]).toEqual([
        statement,
        [[before?.[0], '{0,0,0,0,0,0,0,0}', '1s']],
      ]);
    }
  } finally {
    await source.close();
  }
});

test('a session of a role is reset too, and the role keeps its settings', async () => {
  const source = createDataSource({ url: database.url, poolMax: 1, roles: { tenant: 'org_reset live' } }, () => undefined);
  try {
    const { scope } = resolveScope(await source.catalog(), { tables: ['orders'], readOnly: false });
    const within = source.within(scope);
    const [before] = (await run(within, 'read write', readState)).rows;
    // After a denial the role is checked again with new connections, which other tests cover.
    for (const statement of statefulStatements.filter((text) => !text.includes("'role'"))) {
      await run(within, 'read write', statement).catch(() => undefined);
      expect([statement, (await run(within, 'read write', readState)).rows]).toEqual([
        statement,
        [[before?.[0], '{0,0,0,0,0,0,0,0}', '1s']],
      ]);
    }
    const { rows } = await run(within, 'read write', "select session_user, pg_catalog.current_setting('default_transaction_read_only')");
    expect(rows).toEqual([[expect.stringMatching(/^agent_scope_/), 'on']]);
  } finally {
    await source.close();
    await administer(`do $$ declare r text; begin for r in select rolname from pg_roles where rolname like 'agent\\_scope\\_%' and
      pg_catalog.shobj_description(oid, 'pg_authid') is not null and has_database_privilege(rolname, current_database(), 'connect') loop
      begin execute format('drop owned by %I', r); execute format('drop role %I', r); exception when others then null; end; end loop; end $$`);
  }
});

test('a session is prepared without procedural code, which an account may not run', async () => {
  await administer(
    "revoke usage on language plpgsql from public; create role without_code login password 'pw'; grant select on orders to without_code",
  );
  const url = new URL(database.url);
  [url.username, url.password] = ['without_code', 'pw'];
  const source = createDataSource({ url: url.href, poolMax: 1 }, () => undefined);
  try {
    expect((await run(source, 'read only', readState)).rows[0]?.[2]).toBe('1s');
  } finally {
    await source.close();
    await administer('grant usage on language plpgsql to public; drop owned by without_code; drop role without_code');
  }
});

test('a connection that is lost before it can be reset is closed', async () => {
  const source = createDataSource({ url: database.url, poolMax: 1 }, () => undefined);
  try {
    const pid = async () => (await run(source, 'read only', 'select pg_catalog.pg_backend_pid()::text')).rows[0]?.[0];
    const before = await pid();
    const lost = source.transaction('read only', limits, async (statement) => {
      await statement('select 1');
      await administer(`select pg_catalog.pg_terminate_backend(${before})`);
    });
    await Promise.allSettled([lost]);
    expect(await pid()).not.toBe(before);
  } finally {
    await source.close();
  }
});
