import { runSeed } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDataSource } from '../src/data-source.ts';
import { Refusal } from '../src/failure.ts';
import { parseStatement } from '../src/gates/parse.ts';
import { confine } from '../src/gates/pass-gates.ts';
import { resolveScope } from '../src/scope/resolve-scope.ts';
import type { ResolvedScope } from '../src/scope/scope.ts';
import { attackStatements, createDraw, createGenerator } from './attack/generator.ts';
import { attackedScope, type HostileDatabase, hostileDatabase } from './attack/hostile-database.ts';
import { addedParts } from './attack/interpretation.ts';

/** PostgreSQL analyzes each of them and writes it back as a view definition. */
const statements = Math.ceil(attackStatements / 4);
const seed = runSeed('interpretation');

let database: HostileDatabase;
let scope: ResolvedScope;

beforeAll(async () => {
  database = await hostileDatabase();
  const source = createDataSource({ url: database.url }, () => undefined);
  scope = resolveScope(await source.catalog(), { tables: attackedScope, readOnly: true }).scope;
  await source.close();
});

afterAll(() => database.drop());

function bound(statement: string): string | undefined {
  try {
    return confine(parseStatement(statement), scope).text;
  } catch (cause) {
    if (cause instanceof Refusal) return undefined;
    throw cause;
  }
}

test('the comparison notices a function that PostgreSQL reads in a name', async () => {
  const read = (text: string) => addedParts(database.administrator, text);
  expect(await read('select c.pg_column_size from public.customers c')).toEqual(['call of pg_column_size']);
  expect(await read("select ('select 1'::text).ts_stat as ts_stat")).toEqual(['call of ts_stat']);
  expect(await read('select l.id from public.customers c, lateral (select c.id) l')).toEqual([]);
});

test(
  'PostgreSQL calls nothing in a bound statement that the statement does not call',
  async () => {
    const next = createGenerator(createDraw(seed), { hostility: [0, 0.02, 0.1], calls: false });
    const surprises: string[] = [];
    let compared = 0;
    for (let count = 0; count < statements; count += 1) {
      const statement = next();
      const text = bound(statement);
      const calls = text === undefined ? undefined : await addedParts(database.administrator, text);
      if (calls === undefined) continue;
      compared += 1;
      if (calls.length > 0) surprises.push(`${calls.join()} in ${statement}`);
    }
    process.stdout.write(`${compared} statements compared\n`);
    expect({ seed, surprises }).toEqual({ seed, surprises: [] });
    expect(compared).toBeGreaterThan(statements / 20);
  },
  Math.max(60_000, statements * 50),
);
