import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { countLockWaits, type TestDatabase, testDatabase, testFolder, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Client } from 'pg';
import { companyOn } from '../src/demonstration/company.ts';
import { bringUpDemonstration } from '../src/demonstration/database.ts';
import { sourceUrl } from '../src/seed.ts';
import { banner } from '../src/system/banner.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => await database.drop());

const reports: string[] = [];
const bringUp = (today: string) =>
  bringUpDemonstration({ adminUrl: database.url, readerPassword: 'reader', today, report: (line) => reports.push(line) });

async function ask(url: string, statement: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: statement, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

test('the company is the same every time, and its history ends today', () => {
  const [one, same, later] = [companyOn('2026-03-01'), companyOn('2026-03-01'), companyOn('2026-03-02')];
  expect(one).toEqual(same);
  expect(one.orders.at(-1)?.['order_date']).toBe('2026-03-01');
  expect(later.orders.map(({ total }) => total)).toEqual(one.orders.map(({ total }) => total));
  expect(later.orders.at(-1)?.['order_date']).toBe('2026-03-02');
});

test('its books agree: lines with totals, payments with invoices', async () => {
  const url = await bringUp('2026-03-01');
  expect(await ask(url, 'select count(*)::int from orders')).toEqual([[1_500]]);
  expect(
    await ask(url, 'select o.id from orders o join order_items i on i.order_id = o.id group by o.id having sum(i.line_total) <> o.total'),
  ).toEqual([]);
  expect(
    await ask(
      url,
      'select i.id from invoices i left join payments p on p.invoice_id = i.id group by i.id having coalesce(sum(p.amount), 0) <> i.amount_paid',
    ),
  ).toEqual([]);
  expect(await ask(url, "select count(*) > 20 from invoices where status = 'overdue'")).toEqual([[true]]);
});

test('the reader may only read, and on a new day the data are made again', async () => {
  const url = await bringUp('2026-03-01');
  await expect(ask(url, 'delete from payments')).rejects.toThrow(/read-only|permission denied/);
  await expect(ask(url, 'begin read write; delete from payments')).rejects.toThrow('permission denied');
  await expect(ask(url, 'create table mine (id int)')).rejects.toThrow();
  expect(await ask(await bringUp('2026-03-02'), 'select max(order_date)::text from orders')).toEqual([['2026-03-02']]);
});

test('data that cannot be replaced on a new day are kept, which is reported', async () => {
  const url = await bringUp('2026-03-03');
  const own = new URL(database.url);
  own.pathname += '_demonstration';
  await ask(own.href, 'create view mine as select id from orders');
  reports.length = 0;
  expect(await bringUp('2026-03-04')).toBe(url);
  expect(await ask(url, 'select max(order_date)::text from orders')).toEqual([['2026-03-03']]);
  expect(reports).toEqual([expect.stringMatching(/keeps its data of 2026-03-03, .*other objects depend on it/)]);
  await ask(own.href, 'drop view mine');
  expect(await ask(await bringUp('2026-03-04'), 'select max(order_date)::text from orders')).toEqual([['2026-03-04']]);
});

test('rights that another session grants on the same database at the same time do not stop it', async () => {
  const name = new URL(await bringUp('2026-03-01')).pathname.slice(1);
  const other = new Client({ connectionString: database.url });
  await other.connect();
  await other.query(`begin; grant temporary on database "${name}" to current_user with grant option`);
  const coming = bringUp('2026-03-01');
  await until('it waits for the other session', async () => (await countLockWaits(database.url, 'revoke all on database')) === 1);
  await other.query('commit');
  await other.end();
  expect(await ask(await coming, 'select max(order_date)::text from orders')).toEqual([['2026-03-01']]);
});

test('the history ends on the database’s day, and does not depend on this computer’s clock', async () => {
  const [[today]] = (await ask(database.url, "select (now() at time zone 'utc')::date::text")) as [[string]];
  const onlyDate = ['nextTick', 'setImmediate', 'clearImmediate', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const;
  jest.useFakeTimers({ now: Date.now() + 40 * 86_400_000, doNotFake: [...onlyDate, 'queueMicrotask', 'performance', 'hrtime'] });
  const url = await bringUpDemonstration({ adminUrl: database.url, readerPassword: 'reader' }).finally(() => jest.useRealTimers());
  expect(await ask(url, 'select max(order_date)::text from orders')).toEqual([[today]]);
});

/** The database's own administrator with these rights on the server, as a role that goes with the database. */
async function administratorWith(database: TestDatabase, rights: string): Promise<string> {
  const url = new URL(database.url);
  const role = `${url.pathname.slice(1)}_${rights.replace(/\W+/g, '_')}`;
  await ask(database.url, `create role "${role}" login password 'administrator' ${rights}`);
  await ask(database.url, `grant create, connect on database "${url.pathname.slice(1)}" to "${role}"`);
  [url.username, url.password] = [role, 'administrator'];
  return url.href;
}

test('without the right to create databases it is a schema, and its reader sees no other', async () => {
  const database = await testDatabase();
  await ask(database.url, 'create table public.of_a_service (secret text)');
  const adminUrl = await administratorWith(database, 'nocreatedb createrole');
  const url = await bringUpDemonstration({ adminUrl, readerPassword: 'reader', today: '2026-03-01' });
  expect(new URL(url).pathname).toBe(new URL(database.url).pathname);
  expect(await ask(url, 'select count(*)::int from orders')).toEqual([[1_500]]);
  await expect(ask(url, 'select * from public.of_a_service')).rejects.toThrow('permission denied');
  await expect(ask(url, 'delete from orders')).rejects.toThrow();
  await database.drop();
});

test('an account that owns the services’ own schemas is never made a reader', async () => {
  const adminUrl = await administratorWith(database, 'nocreatedb nocreaterole');
  const bringing = bringUpDemonstration({ adminUrl, readerPassword: 'reader', today: '2026-03-01' });
  await expect(bringing).rejects.toThrow('neither databases nor roles');
});

test('a data source gets address and TLS of an administrator’s URL, and no options of drivers', () => {
  const base = 'postgres://u:p%40@h:1/d';
  expect(sourceUrl(`${base}?options=-c%20x&application_name=y`)).toBe(`${base}?sslmode=disable`);
  expect(sourceUrl(`${base}?sslmode=no-verify`)).toBe(`${base}?sslmode=require`);
  expect(sourceUrl(`${base}?sslmode=prefer`)).toBe(base);
  expect(sourceUrl(`${base}?sslmode=verify-full&connect_timeout=1`)).toBe(`${base}?sslmode=verify-full`);
});

test.each([true, false])('the first steps after a start name the company only where it has data: %s', async (has_demonstration_data) => {
  const dataDir = await testFolder();
  const credentials = {
    base_url: '',
    organization_id: '',
    api_keys: { live: 'a', test: 'b' },
    oauth: { client_id: 'c', client_secret: 'd' },
  };
  writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify({ ...credentials, has_demonstration_data }));
  const text = banner({ url: 'http://127.0.0.1', dataDir, stop: 'Ctrl-C', rows: [] });
  expect([/demonstration company/.test(text), /small business/.test(text)]).toEqual([has_demonstration_data, has_demonstration_data]);
});
