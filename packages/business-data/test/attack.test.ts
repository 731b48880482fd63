import { runSeed } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type BusinessData, createBusinessData } from '../src/business-data.ts';
import { createDataSource, type DataSource } from '../src/data-source.ts';
import { escapes } from './attack/escapes.ts';
import { attackStatements, createDraw, createGenerator } from './attack/generator.ts';
import { attackedScope, type HostileDatabase, hostileDatabase } from './attack/hostile-database.ts';
import { attempt, type Breach, type Verdict } from './attack/oracle.ts';
import { gate } from './support/gate.ts';

const limits = { timeoutMs: 400, maxRows: 100, maxBytes: 64 * 1024 };
const atOnce = 4;
const seed = runSeed('attack');

let database: HostileDatabase;
let source: DataSource;
let data: BusinessData;

beforeAll(async () => {
  database = await hostileDatabase();
  source = createDataSource({ url: database.url, poolMax: atOnce }, () => undefined);
  data = createBusinessData({ source, gate, scope: { tables: attackedScope, readOnly: true } });
});

afterAll(async () => {
  await source.close();
  await database.drop();
});

/** Everything that the package returns, without the statement itself. */
async function query(statement: string): Promise<unknown> {
  const { statement: _, ...rest } = await data.query(statement, limits);
  return rest;
}

test('the scope is the one that the attack assumes', async () => {
  expect((await data.listTables()).tables.map(({ written }) => written).sort()).toEqual(
    ['"Mixed Case"', 'customers', 'orders', 'sales.orders', 'visible_people'].sort(),
  );
});

test.each(['reading', 'calling', 'writing', 'exhausting'] as const)('no known escape leaves the scope: %s', async (kind) => {
  const before = await database.checksum();
  const breaches: Breach[] = [];
  const verdicts = new Map<string, Verdict>();
  for (const statement of escapes[kind]) verdicts.set(statement, await attempt(statement, breaches, query));
  expect(breaches).toEqual([]);
  if (kind === 'writing') expect([...verdicts].filter(([, verdict]) => verdict !== 'refused')).toEqual([]);
  expect(await database.checksum()).toBe(before);
});

test(
  'no generated statement reads or changes anything outside the scope',
  async () => {
    const next = createGenerator(createDraw(seed), { hostility: [0, 0.02, 0.1], calls: true });
    const before = await database.checksum();
    const breaches: Breach[] = [];
    const counts = new Map<Verdict, number>();
    let left = attackStatements;
    const attacker = async () => {
      while (left > 0 && breaches.length < 5) {
        left -= 1;
        const verdict = await attempt(next(), breaches, query);
        counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, attacker));
    process.stdout.write(`${JSON.stringify(Object.fromEntries(counts))}\n`);
    expect({ seed, breaches }).toEqual({ seed, breaches: [] });
    expect(await database.checksum()).toBe(before);
    // If nearly all statements were refused, the gates behind the parser would not be tested.
    expect((counts.get('ran') ?? 0) / attackStatements).toBeGreaterThan(0.1);
  },
  Math.max(120_000, attackStatements * 20),
);

// Without limits the exhausting statements would run for hours.
test('no statement of the attack still runs in the database', async () => {
  const { rows } = await database.administrator.query(
    "select query from pg_stat_activity where datname = current_database() and state = 'active' and backend_type = 'client backend' and pid <> pg_backend_pid()",
  );
  expect(rows).toEqual([]);
});

test('the oracle notices a leak: without the gates the same escapes return canaries', async () => {
  const breaches: Breach[] = [];
  const direct = (statement: string) =>
    source.transaction('read only', { ...limits, timeZone: 'UTC' }, (run) => run(statement.replaceAll('customers', 'public.customers')));
  for (const statement of escapes.reading.slice(0, 20)) await attempt(statement, breaches, direct);
  expect(breaches.length).toBeGreaterThan(5);
});
