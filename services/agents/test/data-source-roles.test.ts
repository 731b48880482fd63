import { createDataSource, resolveScope } from '@agent-service/business-data';
import type { ProcessContext } from '@agent-service/runtime';
import { type OwnPostgres, ownPostgres, until } from '@agent-service/testkit';
import { tenantName } from '@agent-service/work';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { dropRoles } from '../src/data-sources/sources.ts';

const mine = { organizationId: 'org_mine', environment: 'live' as const };
const logged: (readonly [string, string])[] = [];
const record = (level: string) => (entry: { event: string }) => void logged.push([level, entry.event]);
const logger = { debug: record('debug'), info: record('info'), warn: record('warn') } as unknown as ProcessContext['logger'];
const process = { logger, stopping: new AbortController().signal };
const connectionOf = (url: string) => ({ url, ca: '', allowSuperuser: true, guarded: false });

/** Two servers of one host, which differ by their ports alone. */
let old: OwnPostgres;
let other: OwnPostgres;

beforeAll(async () => {
  [old, other] = await Promise.all([ownPostgres(), ownPostgres()]);
});

beforeEach(() => {
  logged.length = 0;
});

afterAll(async () => {
  await Promise.all([old?.remove(), other?.remove()]);
});

async function onOld<Row extends object>(text: string): Promise<Row[]> {
  const client = new Client({ connectionString: old.url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

const rolesThere = async () => (await onOld("select from pg_roles where rolname like 'agent\\_scope%'")).length;

async function useOld(): Promise<void> {
  await onOld('create table if not exists orders (id integer primary key)');
  const source = createDataSource({ url: old.url, roles: { tenant: tenantName(mine) } }, () => undefined);
  const { scope } = resolveScope(await source.catalog(), { tables: ['orders'], readOnly: true });
  const limits = { timeoutMs: 5_000, maxRows: 1, maxBytes: 1_000, timeZone: 'UTC' };
  await source.within(scope).transaction('read only', limits, (run) => run('select 1'));
  await source.close();
  expect(await rolesThere()).toBe(1);
}

test('a server that stays after the data source moved keeps no role of its scopes', async () => {
  await useOld();
  dropRoles(process, mine, connectionOf(old.url), connectionOf(`${old.url}?sslmode=disable`));
  expect([await rolesThere(), logged]).toEqual([1, []]);
});

test('the roles on a server at another port of the same host are dropped, as those of any other server', async () => {
  await useOld();
  dropRoles(process, mine, connectionOf(old.url), connectionOf(other.url));
  await until('its roles are dropped', async () => logged.length > 0);
  expect([await rolesThere(), logged]).toEqual([0, [['info', 'data_source_roles_dropped']]]);
});

test('a server that moved to another port is not reported; one on another host that cannot be reached is', async () => {
  await old.stop();
  dropRoles(process, mine, connectionOf(old.url), connectionOf(other.url));
  await until('it is told', async () => logged.length === 1);
  dropRoles(process, mine, connectionOf(old.url), connectionOf(other.url.replace('127.0.0.1', 'db.example.com')));
  dropRoles(process, mine, connectionOf(old.url), undefined);
  await until('it is told', async () => logged.length === 3);
  expect(logged).toEqual([
    ['debug', 'data_source_roles_not_dropped'],
    ['warn', 'data_source_roles_not_dropped'],
    ['warn', 'data_source_roles_not_dropped'],
  ]);
});
