import { createServer, type Server } from 'node:net';
import { freePort, silentProxy, type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { type BusinessData, createBusinessData } from '../src/business-data.ts';
import { createDataSource, type DataSource } from '../src/data-source.ts';
import { DataFailure, type FailureKind } from '../src/failure.ts';
import { createResultBudget } from '../src/result-budget.ts';
import { gate } from './support/gate.ts';

let database: TestDatabase;
let administrator: pg.Client;
let source: DataSource;
let data: BusinessData;
const lost: unknown[] = [];

beforeAll(async () => {
  database = await testDatabase();
  administrator = new pg.Client({ connectionString: database.url });
  await administrator.connect();
  await administrator.query(`create table events as select n as id, md5(n::text) as body, now() as at from generate_series(1, 5000) n`);
  source = createDataSource({ url: database.url, poolMax: 2 }, (cause) => lost.push(cause));
  data = createBusinessData({ source, gate, scope: { tables: ['events(id, body)'], readOnly: true } });
});

afterAll(async () => {
  await source.close();
  await administrator.end();
  await database.drop();
});

async function failureOf(work: Promise<unknown>): Promise<DataFailure> {
  const cause = await work.then(
    () => new Error('it did not fail'),
    (thrown: unknown) => thrown,
  );
  if (cause instanceof DataFailure) return cause;
  throw cause;
}

const kindOf = async (work: Promise<unknown>): Promise<FailureKind> => (await failureOf(work)).kind;
const endless = 'select count(*) from generate_series(1, 10000000000)';

test('rows end at the limit, the text says so, and the connection can be used again', async () => {
  const { rows, truncated, text, columns } = await data.query('select id from events order by id', { maxRows: 3 });
  expect({ rows, truncated, columns }).toEqual({ rows: [[1], [2], [3]], truncated: true, columns: [{ name: 'id', type: 'number' }] });
  expect(text).toBe('id\n1\n2\n3\n(the first 3 rows; there are more: aggregate, filter or use LIMIT and OFFSET)');
  expect((await data.query('select id from events order by id limit 3', { maxRows: 3 })).truncated).toBe(false);
});

test('bytes are limited at the socket: rows received so far are returned, and the rest is never read', async () => {
  const before = process.memoryUsage().arrayBuffers;
  const { rows, truncated } = await data.query('select repeat(body, 300) from events', { maxRows: 100_000, maxBytes: 200_000 });
  expect(truncated).toBe(true);
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.length).toBeLessThan(100);
  const one = await data.query("select string_agg(repeat(body, 40), '') from events", { maxBytes: 100_000 });
  expect(one).toMatchObject({ rows: [], truncated: true });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
  expect((await data.query('select count(*) from events')).rows).toEqual([[5000]]);
});

test('results beyond the budget of the process are refused, other tenants continue, and ended queries make room', async () => {
  const budget = createResultBudget(100_000);
  const of = (tenant: string) =>
    createBusinessData({ source, gate, budget: budget.of(tenant), scope: { tables: ['events(id, body)'], readOnly: true } });
  const large = 'select repeat(body, 30) from events limit 40';
  const parallel = budget.of('a').open();
  expect(parallel.take(45_000)).toBe(true);
  expect(await failureOf(of('a').query(large))).toMatchObject({ kind: 'failed', message: expect.stringContaining('memory') });
  expect((await of('b').query('select repeat(body, 30) from events limit 10')).rows).toHaveLength(10);
  parallel.release();
  for (let count = 0; count < 10; count += 1) expect((await of('a').query(large)).rows).toHaveLength(40);
});

test('a statement ends at its time limit, also at the database', async () => {
  expect(await kindOf(data.query(endless, { timeoutMs: 100 }))).toBe('timeout');
  expect((await data.query('select 1')).rows).toEqual([[1]]);
});

test('a caller that cancels returns at once, and the statement ends at the database', async () => {
  const leaving = new AbortController();
  const running = failureOf(data.query(endless, { signal: leaving.signal, timeoutMs: 60_000 }));
  await until(async () => (await runningStatements()) === 1);
  leaving.abort();
  expect((await running).kind).toBe('cancelled');
  await until(async () => (await runningStatements()) === 0);
  expect(await kindOf(data.query('select 1', { signal: leaving.signal }))).toBe('cancelled');
  expect((await data.query('select 1')).rows).toEqual([[1]]);
});

test('a caller that cancels while its connection is made runs no statement', async () => {
  const fresh = createDataSource({ url: database.url, poolMax: 1 }, () => undefined);
  const leaving = new AbortController();
  const limits = { maxRows: 10, maxBytes: 10_000, timeZone: 'UTC', timeoutMs: 2_000, signal: leaving.signal };
  let statements = 0;
  const outcome = kindOf(
    fresh.transaction('read write', limits, async (run) => {
      statements += 1;
      return await run("insert into public.events values (0, '', now())");
    }),
  );
  leaving.abort();
  expect(await outcome).toBe('cancelled');
  expect(statements).toBe(0);
  expect((await data.query('select count(*) from events')).rows).toEqual([[5000]]);
  const next = fresh.transaction('read only', { ...limits, signal: undefined }, (run) => run('select 1'));
  expect((await next).rows).toEqual([['1']]);
  await fresh.close();
});

test('a statement that the database cannot interrupt holds its permit until it has ended', async () => {
  const narrow = createDataSource({ url: database.url, poolMax: 1, queueTimeoutMs: 60_000, applicationName: 'narrow' }, () => undefined);
  const path = "(select ('[' || string_agg('(' || n || ',' || n % 7 || ')', ',') || ']')::path as p from generate_series(1, 1500) n) q";
  const limits = { maxRows: 10, maxBytes: 10_000, timeZone: 'UTC' };
  const leaving = new AbortController();
  const sessions = `select count(*)::int as count from pg_stat_activity where application_name = 'narrow' and state = 'active'`;
  const stuck = `${sessions} and query like '%<->%'`;
  const first = narrow.transaction('read only', { ...limits, timeoutMs: 60_000, signal: leaving.signal }, (run) =>
    run(`select p <-> p from ${path}`),
  );
  const outcome = failureOf(first);
  await until(async () => (await administrator.query<{ count: number }>(stuck)).rows[0]?.count === 1);
  leaving.abort();
  expect((await outcome).kind).toBe('cancelled');
  const next = narrow.transaction('read only', { ...limits, timeoutMs: 60_000 }, (run) => run(sessions));
  expect((await next).rows).toEqual([['1']]);
  await narrow.close();
}, 120_000);

async function runningStatements(): Promise<number> {
  const { rows } = await administrator.query<{ count: string }>(
    `select count(*) from pg_stat_activity where state = 'active' and query like '%10000000000%' and pid <> pg_backend_pid() and datname = current_database()`,
  );
  return Number(rows[0]?.count);
}

test('a caller waits for a full pool only up to a limit', async () => {
  const small = createDataSource({ url: database.url, poolMax: 1, connectTimeoutMs: 200 }, () => undefined);
  const busy = createBusinessData({ source: small, gate, scope: { tables: ['events'], readOnly: true } });
  await busy.listTables();
  const first = kindOf(busy.query(endless, { timeoutMs: 1_000 }));
  const second = failureOf(busy.query('select 1'));
  expect(await Promise.all([first, second])).toMatchObject([
    'timeout',
    { kind: 'unavailable', message: expect.stringContaining('The data source is busy') },
  ]);
  await small.close();
});

const within = { timeoutMs: 10_000, maxRows: 10, maxBytes: 10_000, timeZone: 'UTC' };

test('waiting for a permit may take longer than connecting', async () => {
  const small = createDataSource({ url: database.url, poolMax: 2, connectTimeoutMs: 300, queueTimeoutMs: 20_000 }, () => undefined);
  const requests = Array.from({ length: 10 }, () => small.transaction('read only', within, (run) => run('select pg_sleep(0.2)')));
  expect((await Promise.allSettled(requests)).map(({ status }) => status)).toEqual(Array(10).fill('fulfilled'));
  await small.close();
});

test('a caller that cancels while it waits for a permit returns at once and acquires none', async () => {
  const small = createDataSource({ url: database.url, poolMax: 1, queueTimeoutMs: 20_000 }, () => undefined);
  const leaving = new AbortController();
  const first = small.transaction('read only', within, (run) => run('select pg_sleep(0.5)'));
  const second = kindOf(small.transaction('read only', { ...within, signal: leaving.signal }, (run) => run('select 1')));
  const third = small.transaction('read only', within, (run) => run('select 1'));
  leaving.abort();
  expect(await Promise.race([second, first])).toBe('cancelled');
  expect((await third).rows).toEqual([['1']]);
  await first;
  await small.close();
});

test('a database that stops answering is reported as unavailable, and not as a slow statement', async () => {
  const proxy = await silentProxy(database.url);
  const distant = createDataSource({ url: proxy.url }, () => undefined);
  await distant.transaction('read only', within, (run) => run('select 1'));
  proxy.silence();
  const failure = await failureOf(distant.transaction('read only', { ...within, timeoutMs: 100 }, (run) => run('select 1')));
  expect(failure).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('did not answer') });
  await proxy.close();
  await distant.close();
});

test('a lost connection fails only the statement that runs on it', async () => {
  const running = failureOf(data.query(endless, { timeoutMs: 60_000 }));
  await until(async () => (await runningStatements()) === 1);
  await administrator.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );
  expect((await running).kind).toBe('unavailable');
  expect((await data.query('select 1')).rows).toEqual([[1]]);
});

test('a database that is stopped, silent or missing is reported as unavailable', async () => {
  const port = await freePort();
  const silent: Server = createServer((socket) => socket.resume());
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  const silentPort = typeof address === 'object' && address ? address.port : 0;
  const missing = new URL(database.url);
  missing.pathname = '/no_such_database';
  const urls = [`postgres://x:y@127.0.0.1:${port}/d`, `postgres://x:y@127.0.0.1:${silentPort}/d`, missing.href];
  for (const url of urls) {
    const away = createDataSource({ url, connectTimeoutMs: 300 }, () => undefined);
    const failure = await failureOf(away.check());
    expect([failure.kind, failure.message.includes('127.0.0.1')]).toEqual(['unavailable', false]);
    await away.close();
  }
  await new Promise((resolve) => silent.close(resolve));
});

test('TLS that the server does not offer is a failure, never clear text', async () => {
  const strict = createDataSource({ url: database.url, tls: { mode: 'verify' } }, () => undefined);
  expect(await kindOf(strict.check())).toBe('unavailable');
  await strict.close();
});

test.each([
  ['mysql://a:b@h/d', /postgres:/],
  ['postgres://a:b@h/d?options=-csearch_path%3Dvault', /options/],
  ['postgres://a:b@h/d?sslmode=prefer', /sslmode/],
  ['not a url', /postgres:/],
])('a URL with another protocol or further parameters is refused: %s', (url, message) => {
  expect(() => createDataSource({ url }, () => undefined)).toThrow(message);
});

test('a check returns the version of the server', async () => {
  const { version, durationMs } = await source.check();
  expect(version).toMatch(/^\d+/);
  expect(durationMs).toBeGreaterThan(0);
});
