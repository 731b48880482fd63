import { createCipher } from '@agent-service/store';
import { type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Pool } from 'pg';
import { urlContext } from '../src/data-sources/store/data-sources.ts';
import { type BootedService, boot } from './boot.ts';

const key = (version: number) => `${version}:${Buffer.alloc(32, version).toString('base64')}`;
const keysOf = (...versions: number[]) => versions.map(key).join(',');
const cipherOf = (version: number) => createCipher(new Map([[version, Buffer.alloc(32, version)]]));

let business: TestDatabase;
let own: TestDatabase;
let database: Pool;
let service: BootedService | undefined;

beforeAll(async () => {
  [business, own] = await Promise.all([testDatabase(), testDatabase()]);
  database = new Pool({ connectionString: own.url, max: 2, options: '-c search_path=agents' });
  database.on('error', () => undefined);
});

afterEach(() => stop());

afterAll(async () => {
  await database?.end();
  await Promise.all([business?.drop(), own?.drop()]);
});

async function stop(): Promise<void> {
  await service?.stop();
  service = undefined;
}

/** The service on the same database with these keys. */
async function startWith(...versions: number[]): Promise<BootedService> {
  await stop();
  service = await boot({
    settings: { DATABASE_URL: own.url, ENCRYPTION_KEYS: keysOf(...versions), ENCRYPTION_KEY_AHEAD_SECONDS: '0' },
  });
  return service;
}

interface Row {
  organization_id: string;
  url_sealed: string;
  version: number;
  updated_at: Date;
}

const rowOf = async (organizationId: string): Promise<Row> =>
  (await database.query<Row>('select * from data_sources where organization_id = $1', [organizationId])).rows[0] as Row;

const mine = { organizationId: 'org_mine', environment: 'live' };
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    ({ code }: { code: string }) => code,
  );

test('a rotated key seals stored URLs again, makes no new version, and then the old key is not needed', async () => {
  await (await startWith(1)).operator.connectDataSource({ ...mine, url: business.url, allowSuperuser: true });
  const before = await rowOf(mine.organizationId);
  expect(before.url_sealed).toMatch(/^1:/);
  const both = await startWith(1, 2);
  await until('the URL is sealed again', async () => (await rowOf(mine.organizationId)).url_sealed.startsWith('2:'));
  expect(await codeOf(both.operator.testDataSource(mine))).toBe('done');
  const after = await rowOf(mine.organizationId);
  expect({ ...after, url_sealed: '' }).toEqual({ ...before, url_sealed: '' });
  const newest = await startWith(2);
  expect((await newest.operator.testDataSource(mine)).dataSource).toMatchObject({
    version: 1,
    database: new URL(business.url).pathname.slice(1),
  });
});

test('a URL whose key was removed is reported to the operator, and no other tenant notices', async () => {
  const lost = { organizationId: 'org_lost', environment: 'live' };
  const besides = { ...lost, environment: 'test' };
  const sealed = cipherOf(9).encrypt(JSON.stringify({ url: business.url, ca: '' }), urlContext({ ...lost, environment: 'live' }));
  const { operator } = await startWith(2);
  await database.query(
    `insert into data_sources (organization_id, environment, url_sealed, version, created_at, updated_at) values ($1, 'live', $2, 4, now(), now())`,
    [lost.organizationId, sealed],
  );
  await operator.connectDataSource({ ...besides, url: business.url, allowSuperuser: true });
  const again = await startWith(2, 3);
  await until('the others are sealed again', async () => (await rowOf(mine.organizationId)).url_sealed.startsWith('3:'));
  const failure = await again.operator.testDataSource(lost).catch((cause: unknown) => cause);
  expect(failure).toMatchObject({ code: 'data_source_unavailable', message: expect.stringContaining('Connect it again') });
  const { dataSources } = await again.operator.listDataSources({ organizationId: lost.organizationId });
  expect(dataSources).toMatchObject([
    { environment: 'live', version: 4, host: '', database: '' },
    { environment: 'test', version: 1, host: new URL(business.url).hostname },
  ]);
  expect(await codeOf(again.operator.testDataSource(besides))).toBe('done');
  expect((await rowOf(lost.organizationId)).url_sealed).toBe(sealed);
  // Connecting again is the way out, as is the key.
  expect(await codeOf(again.operator.connectDataSource({ ...lost, url: business.url, allowSuperuser: true }))).toBe('done');
  expect((await again.operator.testDataSource(lost)).dataSource).toMatchObject({ version: 5 });
});

test('while others may not have a new key yet, the one in use goes on', async () => {
  await startWith(3);
  await until('all is under one key', async () => (await rowOf(mine.organizationId)).url_sealed.startsWith('3:'));
  await stop();
  service = await boot({ settings: { DATABASE_URL: own.url, ENCRYPTION_KEYS: keysOf(3, 4) } });
  await service.operator.connectDataSource({ ...mine, url: business.url, allowSuperuser: true });
  const { url_sealed: sealed, version } = await rowOf(mine.organizationId);
  expect(sealed).toMatch(/^3:/);
  // A replica that has only the key of before opens it.
  const old = await boot({ settings: { DATABASE_URL: own.url, ENCRYPTION_KEYS: keysOf(3) } });
  expect((await old.operator.testDataSource(mine)).dataSource).toMatchObject({ version });
  await old.stop();
});
