import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { createDataSource } from '../src/data-source.ts';

let database: TestDatabase;
let client: Client;

/** Operators and functions with names and types of the catalog, which record that they were called. */
const hostile = `
create table public.orders (id integer primary key, note text);
create schema hostile;
create table hostile.called (name text);
create function hostile.same(oid, oid) returns boolean language plpgsql as
  $$ begin insert into hostile.called values ('oid ='); return true; end $$;
create operator hostile.= (leftarg = oid, rightarg = oid, function = hostile.same);
create function hostile.same(name, text) returns boolean language plpgsql as
  $$ begin insert into hostile.called values ('name ='); return true; end $$;
create operator hostile.= (leftarg = name, rightarg = text, function = hostile.same);
create function hostile.differs(name, text) returns boolean language plpgsql as
  $$ begin insert into hostile.called values ('name <>'); return true; end $$;
create operator hostile.<> (leftarg = name, rightarg = text, function = hostile.differs);
create function hostile.same("char", "char") returns boolean language plpgsql as
  $$ begin insert into hostile.called values ('char ='); return true; end $$;
create operator hostile.= (leftarg = "char", rightarg = "char", function = hostile.same);
create function hostile.json_agg(anyelement) returns json language sql as $$ select null::json $$;
create table hostile.pg_class (oid oid, relname name);
create table hostile.pg_roles (rolname name, rolsuper boolean, rolcreaterole boolean, oid oid);
create type hostile.mood as enum ('good', 'bad');
create table hostile.moods (mood hostile.mood);`;

beforeAll(async () => {
  database = await testDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(hostile);
  const name = new URL(database.url).pathname.slice(1);
  await client.query(`alter database ${name} set search_path = hostile, pg_catalog, public`);
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

test('objects of the data source do not replace those of the catalog during a survey', async () => {
  const source = createDataSource({ url: database.url }, () => undefined);
  try {
    const { defaultSchema, tables } = await source.catalog();
    const names = tables.map(({ schema, name, columns }) => `${schema}.${name}(${columns.map((column) => column.name).join()})`);
    expect(names.sort()).toEqual([
      'hostile.called(name)',
      'hostile.moods(mood)',
      'hostile.pg_class(oid,relname)',
      'hostile.pg_roles(rolname,rolsuper,rolcreaterole,oid)',
      'public.orders(id,note)',
    ]);
    expect(defaultSchema).toBe('hostile');
    expect((await client.query('select * from hostile.called')).rows).toEqual([]);
  } finally {
    await source.close();
  }
});
