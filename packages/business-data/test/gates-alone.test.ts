import { runSeed } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDataSource, type DataSource } from '../src/data-source.ts';
import type { Limits } from '../src/database/transaction.ts';
import { DataFailure, Refusal } from '../src/failure.ts';
import { checkGrammar } from '../src/gates/check-grammar.ts';
import { parseStatement } from '../src/gates/parse.ts';
import { confine } from '../src/gates/pass-gates.ts';
import { dropScopedRoles } from '../src/roles/drop-roles.ts';
import { resolveScope } from '../src/scope/resolve-scope.ts';
import type { ResolvedScope } from '../src/scope/scope.ts';
import { escapes } from './attack/escapes.ts';
import { attackStatements, createDraw, createGenerator } from './attack/generator.ts';
import { attackedScope, type HostileDatabase, hostileDatabase } from './attack/hostile-database.ts';
import { attempt, type Breach, type Verdict } from './attack/oracle.ts';
import { sourceOfRole } from './support/role.ts';

const limits: Limits = { timeoutMs: 200, maxRows: 100, maxBytes: 64 * 1024, timeZone: 'UTC' };
/** The part of the generated statements that each gate alone gets. */
const share = 10;
const seed = runSeed('gates-alone');
const known = [...escapes.reading, ...escapes.calling, ...escapes.writing];

let database: HostileDatabase;
let source: DataSource;
let scope: ResolvedScope;

beforeAll(async () => {
  database = await hostileDatabase();
  source = createDataSource({ url: database.url }, () => undefined);
  scope = resolveScope(await source.catalog(), { tables: attackedScope, readOnly: true }).scope;
});

afterAll(async () => {
  await source.close();
  await database.drop();
});

const generated = (hostility: readonly number[], calls: boolean): string[] => {
  const next = createGenerator(createDraw(seed), { hostility, calls });
  return Array.from({ length: Math.ceil(attackStatements / share) }, next);
};

interface Attack {
  readonly statements: readonly string[];
  run(statement: string): Promise<unknown>;
}

async function attack({ statements, run }: Attack): Promise<{ breaches: Breach[]; ran: number; changed: string[] }> {
  const before = await database.checksum();
  const breaches: Breach[] = [];
  const verdicts: Verdict[] = [];
  for (const statement of statements) verdicts.push(await attempt(statement, breaches, run));
  const ran = verdicts.filter((verdict) => verdict === 'ran').length;
  const after = new Set((await database.checksum()).split('\n'));
  return {
    breaches,
    ran,
    changed: before
      .split('\n')
      .filter((part) => !after.delete(part))
      .concat([...after]),
  };
}

/** Turns a Refusal into a DataFailure, as the package does. */
function translateRefusal<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw cause instanceof Refusal ? new DataFailure('refused', cause.message, cause) : cause;
  }
}

const writable = (text: string) => source.transaction('read write', limits, (run) => run(text));

test('the grammar alone: a statement that it passes changes nothing, even with the right to write, and calls no user-defined function', async () => {
  const run = (statement: string) => {
    translateRefusal(() => checkGrammar(parseStatement(statement)));
    // The rows may have any content: the grammar does not restrict tables.
    return writable(statement).then(({ rows }) => rows.length);
  };
  const { breaches, ran, changed } = await attack({ statements: [...known, ...generated([0, 0.05], true)], run });
  expect({ breaches, changed }).toEqual({ breaches: [], changed: [] });
  expect(ran).toBeGreaterThan(30);
});

test('the grammar alone: no known call that reads other things than tables, waits or changes something passes', async () => {
  const passed = escapes.calling.filter((statement) => {
    try {
      checkGrammar(parseStatement(statement));
      return true;
    } catch (cause) {
      return !(cause instanceof Refusal);
    }
  });
  // After rewriting these only compute from rows in scope.
  expect(passed).toEqual([
    'select lower(1)',
    "select pg_catalog.lower('CA' || 'NARY-nothing') where false",
    'select c.pg_typeof from customers c',
    'select c.pg_column_size from customers c',
    'select c.row_to_json from customers c',
    'select c.to_json from customers c',
    `select 'x'::"char"`,
    'select seq from generate_series(1, 2) seq where exists (select from salaries)',
  ]);
});

test('rewrite and binder alone: without the lists of allowed names, no value outside the scope is read by the name of a table', async () => {
  const run = async (statement: string) => {
    const { text } = translateRefusal(() => confine(parseStatement(statement), scope));
    return (await writable(text)).rows;
  };
  const statements = [...escapes.reading, ...escapes.writing, ...generated([0, 0.05], false)];
  const { breaches, ran, changed } = await attack({ statements, run });
  expect({ breaches, changed }).toEqual({ breaches: [], changed: [] });
  expect(ran).toBeGreaterThan(30);
});

/** Effects of a superuser on the server rather than on tables; the account of a data source should not be one. */
const beyondTransactions =
  /to program|alter system|pg_terminate|pg_cancel|pg_reload|pg_rotate|pg_switch|lo_export|pg_promote|binary_upgrade/;

test('the read-only transaction alone: no statement changes stored data', async () => {
  const run = (statement: string) => source.transaction('read only', limits, (one) => one(statement)).then(({ rows }) => rows.length);
  const statements = [...known.filter((statement) => !beyondTransactions.test(statement)), ...generated([0.05], true)];
  const { breaches, ran, changed } = await attack({ statements, run });
  expect({ breaches, changed }).toEqual({ breaches: [], changed: [] });
  expect(ran).toBeGreaterThan(30);
});

test('the role alone allows no other reads and changes', async () => {
  const own = await sourceOfRole(database.administratorUrl, scope, 'attacked');
  try {
    // Even in a writing transaction: the grants are for reading.
    const run = (statement: string) => own.transaction('read write', limits, (one) => one(statement)).then(({ rows }) => rows);
    const { breaches, ran, changed } = await attack({ statements: [...known, ...generated([0.05], true)], run });
    expect({ breaches, changed }).toEqual({ breaches: [], changed: [] });
    expect(ran).toBeGreaterThan(30);
  } finally {
    await own.close();
    await dropScopedRoles({ url: database.administratorUrl }, 'attacked');
  }
});
