import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProcess, type Logger, type RunningProcess } from '@agent-service/runtime';
import {
  freePort,
  silentProxy,
  type TestDatabase,
  type TlsPostgres,
  testAuthority,
  testDatabase,
  testFolder,
  tlsPostgres,
  until,
  withDatabase,
} from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Pool } from 'pg';
import { openStore, type Store } from '../src/index.ts';
import { primaryUrl, waitForDatabase } from '../src/servers/primary.ts';

const settings = { HOST: '127.0.0.1', OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 } as const;
const authority = testAuthority('Servers');

let secured: TlsPostgres;
let database: TestDatabase;
let authorityFile: string;
let strangerFile: string;

beforeAll(async () => {
  const folder = await testFolder();
  [authorityFile, strangerFile] = [join(folder, 'authority.pem'), join(folder, 'stranger.pem')];
  writeFileSync(authorityFile, authority.cert);
  writeFileSync(strangerFile, testAuthority('Stranger').cert);
  [secured, database] = await Promise.all([tlsPostgres(authority.issue()), testDatabase()]);
});
afterAll(async () => {
  await secured.remove();
  await database.drop();
});

const open = (url: string): Promise<RunningProcess<Store>> =>
  createProcess('test', settings, (process) =>
    openStore(process, { DATABASE_URL: url, DATABASE_POOL_MAX: 2 }, { schema: 'public', entities: [] }),
  );

test('sslmode of the URL decides on TLS, and the certificate is verified', async () => {
  const running = await open(`${secured.url}?sslmode=verify-full&sslrootcert=${authorityFile}`);
  expect(await running.started.sql('select ssl from pg_stat_ssl where pid = pg_backend_pid()')).toEqual([{ ssl: true }]);
  await running.stop();
  for (const mode of ['verify-full', 'require'])
    await expect(open(`${secured.url}?sslmode=${mode}&sslrootcert=${strangerFile}`)).rejects.toThrow();
});

test('a start waits for a database that is away, and for no password that is wrong', async () => {
  const proxy = await silentProxy(database.url);
  const waits: unknown[] = [];
  const logger = { warn: (entry: object) => waits.push(entry) } as unknown as Logger;
  await waitForDatabase({ logger }, proxy.url);
  expect(waits).toEqual([]);
  proxy.silence();
  const waiting = waitForDatabase({ logger }, proxy.url);
  await until('it waits', () => waits.length > 0);
  proxy.speak();
  await waiting;
  expect(waits[0]).toEqual({ event: 'waiting_for_database', err: expect.objectContaining({ message: 'timeout expired' }) });
  await proxy.close();
  const wrong = new URL(secured.url);
  wrong.username = 'stranger';
  await expect(waitForDatabase({ logger }, wrong.href)).rejects.toMatchObject({ code: expect.stringMatching(/^28/) });
});

test('several servers of which none answers count as a database that is away', async () => {
  const proxy = await silentProxy(database.url);
  const { host, pathname } = new URL(proxy.url);
  const running = await open(`postgres://postgres:postgres@${host},${host}${pathname}`);
  proxy.silence();
  const pool = (await running.started.orm.em.getConnection().getNativeClient()) as Pool;
  // The connection that is there already would be asked first, for twelve seconds.
  (await pool.connect()).release(true);
  await expect(running.started.sql('select 1')).rejects.toHaveProperty('code', 'unavailable');
  await proxy.close();
  await running.stop();
});

test('a transaction whose statement the server does not answer returns its connection at once, and sends no rollback after it', async () => {
  const proxy = await silentProxy(database.url);
  const running = await open(proxy.url);
  const pool = (await running.started.orm.em.getConnection().getNativeClient()) as Pool;
  const sent: unknown[] = [];
  pool.on('acquire', (client) => {
    const query = client.query.bind(client) as (...values: unknown[]) => unknown;
    const record = (statement: string | { text: string }, ...more: unknown[]) => {
      sent.push(typeof statement === 'string' ? statement : statement.text);
      return query(typeof statement === 'string' ? { text: statement, query_timeout: 300 } : { ...statement, query_timeout: 300 }, ...more);
    };
    Object.assign(client, { query: record });
  });
  const work = running.started.transaction(async ({ sql }) => {
    proxy.silence();
    await sql('select 1');
  });
  await expect(work).rejects.toHaveProperty('code', 'unavailable');
  expect([sent, pool.totalCount]).toEqual([['begin', 'select 1'], 0]);
  await proxy.close();
  await running.stop();
});

test('of several servers the one that accepts writes is used, and followed when it changes', async () => {
  const { host } = new URL(secured.url);
  const own = new URL(database.url);
  const name = own.pathname.slice(1);
  const acceptWrites = (isAccepted: boolean, url: string, each: string) =>
    withDatabase(url, async (client) => {
      await client.query('set default_transaction_read_only = off');
      await client.query(`alter database ${each} set default_transaction_read_only = ${isAccepted ? 'off' : 'on'}`);
    });
  await withDatabase(secured.url, (client) => client.query(`create database ${name}`));
  const securedUrl = secured.url.replace(/\/postgres$/, `/${name}`);
  await acceptWrites(false, securedUrl, name);
  const nowhere = `127.0.0.1:${await freePort()}`;
  const url = `postgres://postgres:postgres@${nowhere},${host},${own.host}/${name}?target_session_attrs=read-write`;
  expect(await primaryUrl(url)).toBe(`postgres://postgres:postgres@${own.host}/${name}`);
  const running = await open(url);
  // Only one of the servers has certificates; ports differ inside and outside of a container.
  const hasCertificate = () => running.started.sql<{ ssl: string }>(`select current_setting('ssl') as ssl`);
  expect(await hasCertificate()).toEqual([{ ssl: 'off' }]);

  await acceptWrites(true, securedUrl, name);
  await acceptWrites(false, database.url, name);
  const write = () => running.started.transaction(({ sql }) => sql('create table if not exists written (id text)'));
  // A session keeps its rights until it ends, as that of a primary that was stopped would.
  await withDatabase(database.url, (client) =>
    client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'),
  );
  // The first one may still get a connection that has just been ended.
  await until('a write is accepted', () => write().then(() => true));
  expect(await hasCertificate()).toEqual([{ ssl: 'on' }]);
  await running.stop();
});
