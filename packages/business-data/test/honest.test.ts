import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createDataSource, type DataSource } from '../src/data-source.ts';
import type { Limits, Transactions } from '../src/database/transaction.ts';
import { passGates } from '../src/gates/pass-gates.ts';
import { dropScopedRoles } from '../src/roles/drop-roles.ts';
import { resolveScope } from '../src/scope/resolve-scope.ts';
import { analyses, corpusHash, honestData, honestSchema, honestStatements, honestTables, neededVersion } from './honest/corpus.ts';

const limits: Limits = { timeoutMs: 10_000, maxRows: 100_000, maxBytes: 64 * 1024 * 1024, timeZone: 'UTC' };
const asText = { getTypeParser: () => (value: string) => value };

let database: TestDatabase;
let administrator: pg.Client;
let source: DataSource;
/** The statements that the server of the tests has all functions for. */
let runnable: readonly string[];

beforeAll(async () => {
  database = await testDatabase();
  administrator = new pg.Client({ connectionString: database.url });
  await administrator.connect();
  await administrator.query(`set timezone = 'UTC'`);
  await administrator.query(honestSchema);
  await administrator.query(honestData);
  source = createDataSource({ url: database.url }, () => undefined);
  runnable = await withoutNewer([...honestStatements, ...analyses]);
});

afterAll(async () => {
  await source.close();
  await administrator.end();
  await database.drop();
});

test('the honest statements are unchanged since before the allow-list', () => {
  expect([honestStatements.length, corpusHash]).toEqual([361, '21d51c67485e13dd3aa9f14681d921be85c6fbe5e51adbea97749aeabe0945b9']);
});

test('there are at least 150 longer analyses, and each returns rows', async () => {
  expect(new Set(analyses).size).toBeGreaterThanOrEqual(150);
  const results = await allDirectly();
  expect(analyses.filter((statement) => results.get(statement)?.length === 0)).toEqual([]);
});

test('all honest analytic statements but one pass, with the same rows as in a direct run', async () => {
  const { scope, unknown } = resolveScope(await source.catalog(), { tables: honestTables, readOnly: true });
  expect(unknown).toEqual([]);
  const { refused, different } = await compare(scope, await allDirectly());
  expect(different).toEqual([]);
  expect(refused).toEqual([fieldOfValue]);
});

test('under the role of their scope honest statements have the same rows', async () => {
  const tenant = 'honest';
  const scoped = createDataSource({ url: database.url, roles: { tenant } }, () => undefined);
  const { scope } = resolveScope(await scoped.catalog(), { tables: honestTables, readOnly: true });
  const within = scoped.within(scope);
  const { rows } = await within.transaction('read only', limits, (run) => run('select current_user'));
  expect(rows).toEqual([[expect.stringMatching(/^agent_scope_/)]]);
  const { refused, different } = await compare(scope, await allDirectly(), within);
  await scoped.close();
  await dropScopedRoles({ url: database.url }, tenant);
  expect(different).toEqual([]);
  expect(refused).toEqual([fieldOfValue]);
});

test('columns outside the scope do not change the rows of statements that do not name them, also with a star', async () => {
  const expected = await allDirectly();
  const { scope: whole } = resolveScope(await source.catalog(), { tables: honestTables, readOnly: true });
  const entries = whole.tables.map(
    ({ schema, name, columns }) => `"${schema}"."${name}"(${columns.map(({ name }) => `"${name}"`).join(', ')})`,
  );
  for (const { kind, schema, name } of whole.tables)
    if (kind === 'table') await administrator.query(`alter table "${schema}"."${name}" add column hidden text not null default 'hidden'`);
  const fresh = createDataSource({ url: database.url }, () => undefined);
  const { scope } = resolveScope(await fresh.catalog(), { tables: entries, readOnly: true });
  await fresh.close();
  const { refused, different } = await compare(scope, expected);
  expect(different).toEqual([]);
  expect(refused).toEqual([fieldOfValue]);
});

/** The one honest statement that the binder refuses: a field of a value. */
const fieldOfValue = expect.stringContaining('select (c).name from (select customers as c from customers where id = 3) s');

type Scope = ReturnType<typeof resolveScope>['scope'];

async function compare(
  scope: Scope,
  expected: ReadonlyMap<string, string[]>,
  on: Transactions = source,
): Promise<{ refused: string[]; different: string[] }> {
  const refused: string[] = [];
  const different: string[] = [];
  for (const [statement, rows] of expected) {
    const confined = await through(scope, statement, on);
    if (typeof confined === 'string') refused.push(`${confined} :: ${statement}`);
    else if (confined.join('\n') !== rows.join('\n')) different.push(statement);
  }
  return { refused, different };
}

async function withoutNewer(statements: readonly string[]): Promise<string[]> {
  const { rows } = await administrator.query<{ major: number }>(`select current_setting('server_version_num')::int / 10000 as major`);
  const major = rows[0]?.major ?? 0;
  const left = statements.filter((statement) => neededVersion(statement) > major);
  for (const statement of left)
    process.stdout.write(`left out on PostgreSQL ${major}, needs ${neededVersion(statement)}: ${statement.slice(0, 60)}\n`);
  return statements.filter((statement) => !left.includes(statement));
}

async function allDirectly(): Promise<ReadonlyMap<string, string[]>> {
  const results = new Map<string, string[]>();
  for (const statement of runnable) results.set(statement, await directly(statement));
  return results;
}

/** The rows, sorted because a statement without ORDER BY has no order; or the reason why there are none. */
async function through(scope: Scope, statement: string, on: Transactions): Promise<string[] | string> {
  try {
    const { text } = passGates(statement, scope);
    const { rows } = await on.transaction('read only', limits, (run) => run(text));
    return sorted(rows);
  } catch (cause) {
    return String(cause);
  }
}

async function directly(text: string): Promise<string[]> {
  const { rows } = await administrator.query<(string | null)[]>({ text, rowMode: 'array', types: asText });
  return sorted(rows);
}

const sorted = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort();
