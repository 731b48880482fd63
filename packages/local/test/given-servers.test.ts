import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ownPostgres,
  type TestDatabase,
  testDatabase,
  testRedis,
  testRedisCluster,
  testSentinel,
  testSystem,
} from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { provisionGivenDatabase } from '../src/system/provision.ts';
import { fakeCatalogue } from './fake-catalogue.ts';
import { environmentOf, ownEnvironment, pidsIn, startFakes } from './support.ts';

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('servers that the operator names', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await testDatabase();
  });

  afterAll(async () => {
    await database.drop();
  });

  test('are used, and none are started', async () => {
    const system = await testSystem({}, { catalogue: fakeCatalogue });
    expect(Object.keys(pidsIn(system.dataDir)).sort()).toEqual(['answer-worker', 'gateway', 'identity']);
    const [identity, gateway] = await Promise.all([environmentOf(system, 'identity'), environmentOf(system, 'gateway')]);
    expect(gateway['REDIS_URL']).toMatch(/^redis:.*\/\d+$/);
    expect(await query(identity['DATABASE_URL'] ?? '', 'show search_path')).toEqual([{ search_path: 'identity' }]);
    await system.stop();
  });

  test.each([
    ['a cluster', testRedisCluster],
    ['sentinels', testSentinel],
  ])('Redis may be %s', async (_, start) => {
    const redis = await start();
    const system = await testSystem({ REDIS_URL: redis.url }, { catalogue: fakeCatalogue });
    expect((await environmentOf(system, 'gateway'))['REDIS_URL']).toBe(redis.url);
    await system.stop();
    await redis.stop();
  });

  test('each service has a role that owns its schema and reads no other', async () => {
    const { urls } = await provisionGivenDatabase(database.url, {
      services: ['identity', 'other'],
      password: (service) => `password-of-${service}`,
    });
    await query(urls['other'] ?? '', 'create table private_things (id int)');
    await expect(query(urls['identity'] ?? '', 'select * from other.private_things')).rejects.toThrow('permission denied for schema other');
    await expect(query(urls['identity'] ?? '', 'create schema more')).rejects.toThrow('permission denied for database');
  });

  test('a database that was restored under another name is refused with the statements that give its schemas to the roles of its own', async () => {
    const restored = await testDatabase();
    const [service, former] = ['restored', `former_${Date.now()}`];
    const provision = () => provisionGivenDatabase(restored.url, { services: [service], password: () => 'password' });
    for (const sql of [`create role ${former}`, `create schema ${service} authorization ${former}`]) await query(restored.url, sql);
    const message = await provision().then(
      () => 'no failure',
      (cause: Error) => cause.message,
    );
    expect(message).toContain('belong to roles of another name');
    const statements = message.split('\n').filter((line) => line.includes('reassign'));
    expect(statements).toEqual([expect.stringContaining(`reassign owned by "${former}" to "`)]);
    await query(restored.url, statements.join(''));
    const { urls } = await provision();
    expect(await query(urls[service] ?? '', 'create table made ()')).toEqual([]);
    await query(restored.url, `drop role ${former}`);
    await restored.drop();
  });

  test('a service may run with a role that does not own its schema', async () => {
    const { urls, ownerUrls } = await provisionGivenDatabase(database.url, {
      services: ['split'],
      runtimeRoles: ['split'],
      password: (name) => `password-of-${name}`,
    });
    await query(ownerUrls['split'] ?? '', 'create table owned (id int)');
    await expect(query(urls['split'] ?? '', 'select * from owned')).rejects.toThrow('owned');
    await expect(query(urls['split'] ?? '', 'create table split.more (id int)')).rejects.toThrow('permission denied for schema split');
    expect(
      await query(
        urls['split'] ?? '',
        "select pg_has_role(current_user, relowner, 'member') as member from pg_class where relname = 'owned'",
      ),
    ).toEqual([{ member: false }]);
  });

  test('a database on which a system with other secrets runs is refused, and keeps its passwords', async () => {
    const withPasswords = (folder: string) => writeFileSync(join(folder, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
    const server = await ownPostgres({ beforeStart: withPasswords });
    const { url } = await testRedis();
    const envOfOne = await ownEnvironment({ DATABASE_URL: server.url, REDIS_URL: url });
    const one = await startFakes(envOfOne);
    const session = new Client({ connectionString: (await environmentOf(one, 'identity'))['DATABASE_URL'] });
    await session.connect();
    const envOfOther = await ownEnvironment({ DATABASE_URL: server.url, REDIS_URL: url });
    await expect(startFakes(envOfOther)).rejects.toMatchObject({
      name: 'OperatorFault',
      message: expect.stringMatching(/DATABASE_URL: another system runs on this database/),
    });
    await one.stop();

    // Its own next start is let in beside a session that has stayed, and a system with other secrets when all have ended.
    const again = await startFakes(envOfOne);
    await again.stop();
    await session.end();
    const other = await startFakes(envOfOther);
    await other.stop();
    await server.remove();
  });

  test('the wait for a held lock is bounded', async () => {
    const holder = new Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('select pg_advisory_lock(727274001)');
    const preparing = provisionGivenDatabase(database.url, { services: ['identity'], password: () => 'unused', limitMs: 200 });
    await expect(preparing).rejects.toMatchObject({ name: 'OperatorFault', message: expect.stringContaining('more than 200 ms') });
    await holder.end();
  });

  test('a role that may not make roles serves all services, which is said', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await query(database.url, `create role ${name}_plain login password 'plain'; grant create on database ${name} to ${name}_plain`);
    const url = new URL(database.url);
    [url.username, url.password] = [`${name}_plain`, 'plain'];
    const { urls, note } = await provisionGivenDatabase(url.href, { services: ['alone'], password: () => 'unused' });
    expect(note).toContain(`"${name}_plain" may not create roles`);
    expect(await query(urls['alone'] ?? '', 'show search_path')).toEqual([{ search_path: 'alone' }]);
    await query(database.url, `revoke all on database ${name} from ${name}_plain; drop schema alone`);
  });

  test.each([
    [
      'DATABASE_URL',
      'postgres://me:secret@127.0.0.1:1/db',
      /DATABASE_URL \(postgres:\/\/me:\*\*\*@127.0.0.1:1\/db\) cannot be used: .*ECONNREFUSED.*\n.*correct DATABASE_URL/,
    ],
    ['DATABASE_URL', 'mysql://somewhere', /DATABASE_URL: must be a URL that begins with postgres/],
    [
      'REDIS_URL',
      'redis://:secret@127.0.0.1:1',
      /REDIS_URL \(redis:\/\/:\*\*\*@127.0.0.1:1\) cannot be used: .*ECONNREFUSED.*\n.*correct REDIS_URL/,
    ],
    [
      'REDIS_URL',
      'redis://:secret@127.0.0.1:1,redis://:hidden@127.0.0.1:2',
      /REDIS_URL \(redis:\/\/:\*\*\*@127.0.0.1:1,redis:\/\/:\*\*\*@127.0.0.1:2\) cannot be used: .*ECONNREFUSED/,
    ],
    ['REDIS_URL', 'redis://127.0.0.1:1,two/3', /REDIS_URL: must be nodes like redis:\/\/one:6379,two:6379/],
    ['REDIS_MODE', 'many', /REDIS_MODE: must be auto, single, sentinel or cluster/],
    ['REPLICAS', 'nobody=2', /REPLICAS: "nobody=2" should be name=number, with a name out of: identity, answer-worker, gateway/],
    ['PORT', 'eighty', /PORT: must be a whole number/],
  ])('a broken %s (%s) is named, with what to do', async (setting, value, message) => {
    const { url } = await testRedis();
    const env = await ownEnvironment({ DATABASE_URL: database.url, REDIS_URL: url, [setting]: value });
    await expect(startFakes(env)).rejects.toThrow(message);
  });
});
