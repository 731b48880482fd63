import { expect, test } from '@jest/globals';
import { allowedFunctions, allowedOperators, allowedTypes } from '../src/gates/allowed-names.ts';
import { databaseOfFile } from './support/database.ts';

const database = databaseOfFile();

const names = async (statement: string, list: ReadonlySet<string>): Promise<string[]> => {
  const { rows } = await database.administrator.query<{ name: string }>(statement, [[...list]]);
  return rows.map(({ name }) => name);
};

test('every overload of an allowed function is built-in code, runs as its caller and has no lasting effect', async () => {
  const suspicious = await names(
    `select distinct proname as name from pg_proc where proname = any ($1) and pronamespace = 'pg_catalog'::regnamespace
       and (prosecdef or provolatile = 'v' or prolang not in (select oid from pg_language where lanname in ('internal', 'sql'))) order by 1`,
    allowedFunctions,
  );
  // Their result differs from call to call, and they change only their own next result.
  expect(suspicious).toEqual(['clock_timestamp', 'gen_random_uuid', 'random']);
});

test('no allowed function takes the name of an object, or a statement to run', async () => {
  const suspicious = await names(
    `select distinct proname as name from pg_proc p, unnest(proargtypes) argument where proname = any ($1) and pronamespace = 'pg_catalog'::regnamespace
       and argument in ('regclass'::regtype, 'regproc'::regtype, 'regrole'::regtype, 'regnamespace'::regtype, 'oid'::regtype, 'refcursor'::regtype, 'cstring'::regtype, 'internal'::regtype)
       and prokind <> 'a' order by 1`,
    allowedFunctions,
  );
  // The cast of an oid to a number is not used as a name.
  expect(suspicious).toEqual(['int8']);
});

test('every allowed type and operator exists', async () => {
  const types = await names(
    `select typname as name from pg_type where typname = any ($1) and typnamespace = 'pg_catalog'::regnamespace`,
    allowedTypes,
  );
  expect([...allowedTypes].filter((name) => !types.includes(name))).toEqual([]);
  const operators = await names(`select distinct oprname as name from pg_operator where oprname = any ($1)`, allowedOperators);
  // "!=" is a spelling that the parser keeps; "!" and "!!" exist only in some versions.
  expect([...allowedOperators].filter((name) => !operators.includes(name) && !['!=', '!', '!!'].includes(name))).toEqual([]);
});
