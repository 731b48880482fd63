import { randomBytes } from 'node:crypto';
import { createMetrics, createProcess, type Logger, type RunningProcess } from '@agent-service/runtime';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createRotation } from '../src/cipher/cipher-rotation.ts';
import {
  createCipher,
  keyVersionIndex,
  migrate,
  migration,
  openStore,
  type SealedField,
  type Sql,
  type Store,
  sealedColumn,
} from '../src/index.ts';

const settings = { HOST: '127.0.0.1', OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 } as const;
const contextOf = ({ tenant, id }: Readonly<Record<string, string>>) => `secrets ${tenant}/${id}`;
const secrets = sealedColumn({ table: 'secrets', column: 'sealed', key: ['tenant', 'id'], contextOf });
const expiring: SealedField = { name: 'responses.response', table: 'responses', value: `(response ->> 'secret')` };
const tables = `
  create table secrets (tenant text not null, id text not null, sealed text, primary key (tenant, id));
  create table responses (id text primary key, response jsonb not null);`;

let database: TestDatabase;
let running: RunningProcess<Store>;
let sql: Sql;

beforeAll(async () => {
  database = await testDatabase();
  const migrations = [migration('0001', tables, keyVersionIndex(secrets), keyVersionIndex(expiring))];
  running = await createProcess('test', settings, async (process) => {
    await migrate({ url: database.url, schema: 'sealed', migrations });
    return openStore(process, { DATABASE_URL: database.url, DATABASE_POOL_MAX: 5 }, { schema: 'sealed', entities: [] });
  });
  sql = running.started.sql;
});

afterEach(async () => {
  await sql('delete from secrets');
  await sql('delete from responses');
});

afterAll(async () => {
  await running?.stop();
  await database?.drop();
});

const [a, b, c] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const keys = (...versions: [number, Buffer][]) => new Map(versions);

interface Event {
  level: string;
  event: string;
  [field: string]: unknown;
}

interface ReplicaOptions {
  ahead: number;
  now: () => number;
  run: Sql;
  fields: readonly SealedField[];
}

/** The rotation of one process, with its log events and metrics. */
function replica(configured: Map<number, Buffer>, options: Partial<ReplicaOptions> = {}) {
  const { ahead = 0, now = () => 0, run = sql, fields = [secrets] } = options;
  const events: Event[] = [];
  const logger = Object.fromEntries(
    ['info', 'warn', 'error'].map((level) => [level, (event: Event) => void events.push({ ...event, level })]),
  ) as unknown as Logger;
  const metrics = createMetrics('test');
  const config = { ENCRYPTION_KEYS: configured, ENCRYPTION_KEY_AHEAD_SECONDS: ahead };
  const rotation = createRotation({ logger, metrics, stopping: new AbortController().signal }, { sql: run }, config, fields, now);
  const gauge = async (name: string) => {
    const metric = await metrics.registry.getSingleMetric(name)?.get();
    return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [String(labels['place']), value]));
  };
  return {
    ...rotation,
    events,
    older: () => gauge('sealed_values_under_older_keys'),
    unopened: () => gauge('sealed_values_unopened'),
  };
}

const sealOne = (key: Map<number, Buffer>, tenant: string, id: string, clear: string) =>
  createCipher(key).encrypt(clear, contextOf({ tenant, id }));

const clearOf = (number: number) => `the secret ${number}`;

async function store(key: Map<number, Buffer>, count: number, tenant = 'org'): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => String(index).padStart(5, '0'));
  await sql('insert into secrets select $1, * from unnest($2::text[], $3::text[])', [
    tenant,
    ids,
    ids.map((id) => sealOne(key, tenant, id, clearOf(Number(id)))),
  ]);
}

interface Row {
  tenant: string;
  id: string;
  sealed: string;
}

const rows = () => sql<Row>('select tenant, id, sealed from secrets order by tenant, id');
const versions = async () => [...new Set((await rows()).map(({ sealed }) => sealed.split(':')[0]))];
const clears = async (key: Map<number, Buffer>) =>
  (await rows()).map((row) => createCipher(key).decrypt(row.sealed, contextOf({ ...row })));

test('values under older keys are sealed again under the newest, which then opens all of them, and the log reports it once', async () => {
  await store(keys([1, a]), 230);
  await store(keys([2, b]), 30, 'org_2');
  const { rotate, events, older, unopened } = replica(keys([1, a], [2, b], [3, c]));
  await rotate();
  expect(await versions()).toEqual(['3']);
  const expected = [
    ...Array.from({ length: 230 }, (_, index) => clearOf(index)),
    ...Array.from({ length: 30 }, (_, index) => clearOf(index)),
  ];
  expect(await clears(keys([3, c]))).toEqual(expected);
  expect([await older(), await unopened()]).toEqual([{ 'secrets.sealed': 0 }, { 'secrets.sealed': 0 }]);
  await rotate();
  expect(events).toEqual([
    { level: 'info', event: 'encryption_keys_unused', setting: 'ENCRYPTION_KEYS', versions: [1, 2], sealing: 3, resealed: 260 },
  ]);
});

test('with a single key nothing is sealed again and nothing is reported', async () => {
  await store(keys([1, a]), 3);
  const before = await rows();
  const { rotate, events, older } = replica(keys([1, a]));
  await rotate();
  expect(await rows()).toEqual(before);
  expect([events, await older()]).toEqual([[], { 'secrets.sealed': 0 }]);
});

test('replicas can run at the same time: each value is sealed again once', async () => {
  await store(keys([1, a]), 150);
  const replicas = [1, 2, 3].map(() => replica(keys([1, a], [2, b])));
  await Promise.all(replicas.map(({ rotate }) => rotate()));
  const done = replicas.map(({ events }) => Number(events.at(-1)?.['resealed']));
  expect(done.reduce((sum, count) => sum + count, 0)).toBe(150);
  expect(await clears(keys([2, b]))).toEqual(Array.from({ length: 150 }, (_, index) => clearOf(index)));
});

test('a value that is changed or removed during the rotation stays changed or removed', async () => {
  await store(keys([1, a]), 3);
  const written = sealOne(keys([2, b]), 'org', '00001', 'another secret');
  let isFirst = true;
  /** Changes values between the rotation's read and its write. */
  const interrupting: Sql = async (statement, values) => {
    if (statement.startsWith('update') && isFirst) {
      isFirst = false;
      await sql(`update secrets set sealed = $1 where id = '00001'`, [written]);
      await sql(`update secrets set sealed = null where id = '00002'`);
    }
    return await sql(statement, values);
  };
  const { rotate, events } = replica(keys([1, a], [2, b]), { run: interrupting });
  await rotate();
  const [first, second, third] = await rows();
  expect(createCipher(keys([2, b])).decrypt(first?.sealed ?? '', contextOf({ tenant: 'org', id: '00000' }))).toBe(clearOf(0));
  expect([second?.sealed, third?.sealed]).toEqual([written, null]);
  expect(events).toMatchObject([{ event: 'encryption_keys_unused', resealed: 1 }]);
});

test('a value that a replica with the old settings seals under the old key is found by the next rotation', async () => {
  await store(keys([1, a]), 1);
  const { rotate, events, older } = replica(keys([1, a], [2, b]));
  await rotate();
  await store(keys([1, a]), 1, 'late');
  await rotate();
  expect([await versions(), await older()]).toEqual([['2'], { 'secrets.sealed': 0 }]);
  expect(events.map(({ event }) => event)).toEqual(['encryption_keys_unused']);
});

test('a value whose key is not configured is reported with the setting and the version, and does not stop the others from being sealed again', async () => {
  await store(keys([1, a]), 2);
  await store(keys([7, c]), 3, 'orphans');
  const { rotate, events, unopened, older } = replica(keys([1, a], [2, b]));
  await rotate();
  await rotate();
  expect(await versions()).toEqual(['2', '7']);
  const faults = events.filter(({ level }) => level === 'error');
  expect(faults).toMatchObject([
    { event: 'sealed_values_unopened', setting: 'ENCRYPTION_KEYS', place: 'secrets.sealed', version: 7, values: 3 },
  ]);
  expect(String(faults[0]?.['err'])).toContain('ENCRYPTION_KEYS has no version 7');
  expect([await unopened(), await older()]).toEqual([{ 'secrets.sealed': 3 }, { 'secrets.sealed': 0 }]);
  // The operator adds the key again.
  const repaired = replica(keys([2, b], [7, c]));
  await repaired.rotate();
  expect(await repaired.unopened()).toEqual({ 'secrets.sealed': 0 });
});

test('a different key under a known version is detected, also under the newest version', async () => {
  await store(keys([1, a]), 2);
  await store(keys([2, b]), 2, 'newest');
  const { rotate, events, older, unopened } = replica(keys([1, c], [2, c]));
  await rotate();
  expect(events.filter(({ level }) => level === 'error')).toMatchObject([
    { version: 1, values: 2 },
    { version: 2, values: 1 },
  ]);
  expect(String(events[0]?.['err'])).toContain('version 1 of ENCRYPTION_KEYS is not the key');
  // A key that opens nothing destroys nothing.
  expect([await older(), await unopened()]).toEqual([{ 'secrets.sealed': 0 }, { 'secrets.sealed': 3 }]);
  expect(await clears(keys([1, a], [2, b]))).toHaveLength(4);
});

test('a value that was never sealed is counted, and no part of it is reported', async () => {
  await sql(`insert into secrets values ('org', 'clear', 'hunter:2 in clear'), ('org', 'none', null), ('org', 'empty', '')`);
  const { rotate, events, unopened } = replica(keys([1, a], [2, b]));
  await rotate();
  expect(await unopened()).toEqual({ 'secrets.sealed': 1 });
  expect(events[0]).toMatchObject({ level: 'error', version: 'none', values: 1 });
  expect(`${JSON.stringify(events)}${String(events[0]?.['err'])}`).not.toContain('hunter');
});

test('values that expire are not sealed again', async () => {
  await sql('insert into responses values ($1, $2)', ['one', JSON.stringify({ secret: sealOne(keys([1, a]), 'org', 'one', 'x') })]);
  const { rotate, events, older } = replica(keys([1, a], [2, b]), { fields: [secrets, expiring] });
  await rotate();
  expect([await older(), events]).toEqual([{ 'secrets.sealed': 0, 'responses.response': 1 }, []]);
  await sql('delete from responses');
  await rotate();
  expect(await older()).toEqual({ 'secrets.sealed': 0, 'responses.response': 0 });
  expect(events).toMatchObject([{ event: 'encryption_keys_unused' }]);
});

test('a new key only opens values until every replica can have it; when one of them seals with it, so do the others', async () => {
  await store(keys([1, a]), 2);
  let time = 0;
  const early = replica(keys([1, a], [2, b]), { ahead: 600, now: () => time });
  const sealed = () => early.cipher.encrypt('x', 'y').slice(0, 2);
  await early.inspect();
  expect(sealed()).toBe('1:');
  time = 599_999;
  await early.rotate();
  expect([sealed(), await versions(), await early.older(), early.events]).toEqual(['1:', ['1'], { 'secrets.sealed': 2 }, []]);
  const late = replica(keys([1, a], [2, b]), { ahead: 600, now: () => time });
  await late.inspect();
  time = 600_000;
  await early.rotate();
  expect([sealed(), await versions()]).toEqual(['2:', ['2']]);
  await late.inspect();
  expect(late.cipher.encrypt('x', 'y')).toMatch(/^2:/);
});

test('a stopping process ends between two steps and reports nothing about values that it has not read', async () => {
  await store(keys([1, a]), 150);
  const stop = new AbortController();
  const stopAtOnce: Sql = async (statement, values) => {
    if (statement.startsWith('update')) stop.abort();
    return await sql(statement, values);
  };
  const events: unknown[] = [];
  const logger = { info: (event: unknown) => events.push(event), error: (event: unknown) => events.push(event) } as unknown as Logger;
  const config = { ENCRYPTION_KEYS: keys([1, a], [2, b]), ENCRYPTION_KEY_AHEAD_SECONDS: 0 };
  const process = { logger, metrics: createMetrics('test'), stopping: stop.signal };
  await createRotation(process, { sql: stopAtOnce }, config, [secrets]).rotate();
  expect([await versions(), events]).toEqual([['2', '1'], []]);
});

test('no statement scans a whole table', async () => {
  await store(keys([2, b]), 4_000);
  await store(keys([1, a]), 2, 'old');
  await sql(`insert into responses select id, jsonb_build_object('secret', sealed) from secrets where tenant = 'org'`);
  await sql('analyze secrets');
  await sql('analyze responses');
  const statements = new Map<string, readonly unknown[]>();
  const watched: Sql = async (statement, values = []) => {
    statements.set(statement, values);
    return await sql(statement, values);
  };
  await replica(keys([1, a], [2, b]), { run: watched, fields: [secrets, expiring] }).rotate();
  expect(statements.size).toBe(4);
  for (const [statement, values] of statements) {
    const plan = await sql<{ 'QUERY PLAN': string }>(`explain ${statement}`, values);
    expect(plan.map((line) => line['QUERY PLAN']).join('\n')).not.toMatch(/Seq Scan/);
  }
});
