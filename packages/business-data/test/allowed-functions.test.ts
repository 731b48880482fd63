import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { allowedFunctions, allowedOperators, allowedTypes } from '../src/gates/allowed-names.ts';

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await testDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

const names = async (statement: string, list: ReadonlySet<string>): Promise<string[]> => {
  const { rows } = await client.query<{ name: string }>(statement, [[...list]]);
  return rows.map(({ name }) => name);
};

test('every overload of an allowed function is the server’s own code, runs as its caller and has no lasting effect', async () => {
  const suspicious = await names(
    `select distinct proname as name from pg_proc where proname = any ($1) and pronamespace = 'pg_catalog'::regnamespace
       and (prosecdef or provolatile = 'v' or prolang not in (select oid from pg_language where lanname in ('internal', 'sql'))) order by 1`,
    allowedFunctions,
  );
  // They differ from call to call, and change nothing but their own next answer.
  expect(suspicious).toEqual(['clock_timestamp', 'gen_random_uuid', 'random']);
});

test('no allowed function takes a name of something else, or a statement to run', async () => {
  const suspicious = await names(
    `select distinct proname as name from pg_proc p, unnest(proargtypes) argument where proname = any ($1) and pronamespace = 'pg_catalog'::regnamespace
       and argument in ('regclass'::regtype, 'regproc'::regtype, 'regrole'::regtype, 'regnamespace'::regtype, 'oid'::regtype, 'refcursor'::regtype, 'cstring'::regtype, 'internal'::regtype)
       and prokind <> 'a' order by 1`,
    allowedFunctions,
  );
  // A number of something is a number: it is turned into no name.
  expect(suspicious).toEqual(['int8']);
});

test('what is allowed exists', async () => {
  const types = await names(
    `select typname as name from pg_type where typname = any ($1) and typnamespace = 'pg_catalog'::regnamespace`,
    allowedTypes,
  );
  expect([...allowedTypes].filter((name) => !types.includes(name))).toEqual([]);
  const operators = await names(`select distinct oprname as name from pg_operator where oprname = any ($1)`, allowedOperators);
  // "!=" is another spelling that the parser keeps; "!" and "!!" come and go with versions.
  expect([...allowedOperators].filter((name) => !operators.includes(name) && !['!=', '!', '!!'].includes(name))).toEqual([]);
});
