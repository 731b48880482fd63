import { describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { ownRedis } from './own-redis.ts';
import { testDatabase } from './test-database.ts';
import { testRedis } from './test-redis.ts';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('the infrastructure of tests', () => {
  test('a test database is empty and shared with no other, and drop removes it with its roles', async () => {
    const [one, other] = await Promise.all([testDatabase(), testDatabase()]);
    await query(one.url, 'create table things (id int)');
    expect(await query(other.url, "select 1 from pg_tables where tablename = 'things'")).toEqual([]);
    const name = new URL(one.url).pathname.slice(1);
    await query(one.url, `create role ${name}_identity`);
    await one.drop();
    expect(await query(other.url, `select 1 from pg_database where datname = '${name}'`)).toEqual([]);
    expect(await query(other.url, `select 1 from pg_roles where rolname = '${name}_identity'`)).toEqual([]);
    await other.drop();
  });

  test('letters of all languages have upper and lower case', async () => {
    const database = await testDatabase();
    expect(await query(database.url, "select lower('ÄÖÉЖ') as lower")).toEqual([{ lower: 'äöéж' }]);
    await database.drop();
  });

  test("files do not see each other's keys in Redis", async () => {
    const clients = (await Promise.all([testRedis(), testRedis()])).map(({ url }) => new Redis(url));
    await clients[0]?.set('key', 'one');
    expect(await clients[1]?.get('key')).toBeNull();
    for (const client of clients) client.disconnect();
  });

  test('a Redis of its own stops and starts at the same address', async () => {
    const redis = await ownRedis();
    await redis.stop();
    await redis.start();
    const client = new Redis(redis.url);
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
    await redis.stop();
  });
});
