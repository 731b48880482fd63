import { createDataSource, type DataSource } from '@agent-service/business-data';
import { changedBefore } from '@agent-service/contracts';
import type { RunningProcess } from '@agent-service/runtime';
import { type ModelReply, type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { bootWorker, type Scene, setScene } from './support/scene.ts';

let scene: Scene;
let worker: RunningProcess;
let business: TestDatabase;
let database: DataSource;
let serial = 0;

beforeAll(async () => {
  [scene, business] = await Promise.all([setScene(), testDatabase()]);
  worker = await bootWorker(scene);
  database = createDataSource({ url: business.url }, () => undefined);
  await sql('create table public.notes (id integer primary key, edits integer not null)');
  await sql('insert into public.notes values (1, 0), (2, 0)');
});
afterAll(async () => {
  await worker?.stop();
  await database?.close();
  await business?.drop();
  await scene?.stop();
});
beforeEach(() => scene.reset());

const limits = { timeoutMs: 5_000, maxRows: 10, maxBytes: 10_000, timeZone: 'UTC' };
/** Runs SQL without the tools and gates. */
const sql = (text: string) => database.transaction('read write', limits, (run) => run(text));

const scope = { tables: ['notes'], readOnly: false };
const connected = {
  source: () => ({ url: business.url, caCertificate: '', version: 1, allowSuperuser: true }),
  authorize: () => ({ dataScope: scope, sourceVersion: 1 }),
};
const edit = (id: number): ModelReply => ({
  kind: 'tools',
  calls: [{ name: 'change', arguments: { table: 'notes', operation: 'update', rows: [{ key: { id }, values: { edits: 1 } }] } }],
});
const read: ModelReply = { kind: 'tools', calls: [{ name: 'query', arguments: { sql: 'select id from notes order by id' } }] };
const done: ModelReply = { kind: 'text', text: 'Done.' };

/** Dispatches an answer whose model takes these steps. */
async function dispatched(
  replies: readonly ModelReply[],
  script: Partial<Scene['agents']['script']> = {},
  attempt: object = {},
): Promise<void> {
  const first = scene.model.calls.length;
  scene.model.follow((_request, call) => replies[call - first - 1] ?? done);
  Object.assign(scene.agents.script, connected, { begin: () => ({ dataScope: scope, sourceVersion: 1, ...attempt }) }, script);
  serial += 1;
  await scene.dispatcher.dispatch([`msg_${serial}`]);
}

const completed = () => until('it is completed', () => scene.agents.completed.length === 1);
const failed = () => until('it is failed', () => scene.agents.failed.length === 1);
const failure = () => scene.agents.failed[0]?.failure;
const editsOf = async (id: number) => Number((await sql(`select edits from public.notes where id = ${id}`)).rows[0]?.[0]);

test('each step is authorized, and the queries are reported with the result', async () => {
  await dispatched([read, read]);
  await completed();
  expect(scene.agents.steps.map(({ kind }) => kind)).toEqual(['read', 'read']);
  const query = { statement: 'select id from notes order by id', tables: ['notes'], rows: 2, durationMs: expect.any(Number) };
  expect(scene.agents.completed[0]?.queries).toEqual([query, query]);
});

const systemText = () => String(scene.model.calls.at(-1)?.messages.find(({ role }) => role === 'system')?.content);

test('the model is told the date, the dialect, the tables in scope and the limits after the agent’s own instructions', async () => {
  await dispatched([], {}, { dataScope: { tables: ['notes(id)'], readOnly: true }, outputPreferences: { defaultFormat: 'text' } });
  await completed();
  const [own, today, rules, tables, format, ...rest] = systemText().split('\n\n');
  expect([own, today]).toEqual([
    'You answer shortly.',
    expect.stringMatching(/^Today is \w+day, \d{4}-\d\d-\d\d, in the time zone UTC\.$/),
  ]);
  expect(rules).toMatch(/PostgreSQL.*100 rows/);
  expect(tables).toBe('table notes\n- id: integer, never empty\nprimary key (id)');
  expect([format, rest]).toEqual([expect.stringContaining('plain text'), []]);
});

test('tables are described without a trip to the database for each answer', async () => {
  await dispatched([]);
  await completed();
  const latestStatement = async () => {
    const { rows } = await sql(
      `select max(query_start)::text from pg_catalog.pg_stat_activity
        where application_name = 'agent-service answers' and datname = pg_catalog.current_database()`,
    );
    return rows[0]?.[0];
  };
  const before = await latestStatement();
  expect(before).toEqual(expect.any(String));
  for (let more = 0; more < 5; more += 1) {
    scene.agents.completed.length = 0;
    await dispatched([]);
    await completed();
    expect(systemText()).toContain('table notes');
  }
  expect(await latestStatement()).toBe(before);
});

test('a data source that cannot be read, and a scope without any table of it, fail the answer before the model is called', async () => {
  const callsBefore = scene.model.calls.length;
  const url = 'postgres://nobody:secret@127.0.0.1:1/none?sslmode=disable';
  await dispatched([], { source: () => ({ ...connected.source(), url, version: 7 }) }, { sourceVersion: 7 });
  await failed();
  expect(failure()).toEqual({
    code: 'data_source_unavailable',
    message: 'The data source cannot be reached at the moment. No credits were charged.',
  });
  scene.reset();
  await dispatched(
    [],
    { source: () => ({ ...connected.source(), version: 8 }) },
    { sourceVersion: 8, dataScope: { tables: ['gone'], readOnly: true } },
  );
  await failed();
  expect(failure()?.code).toBe('data_scope_empty');
  expect(scene.model.calls).toHaveLength(callsBefore);
});

test('an answer uses the data source of its version, also after one of a later version, whose commit a failover has lost', async () => {
  const lost = { ...connected.source(), url: 'postgres://nobody:secret@127.0.0.1:1/none?sslmode=disable', version: 9 };
  await dispatched([], { source: () => lost }, { sourceVersion: lost.version });
  await failed();
  scene.reset();
  await dispatched([read]);
  await completed();
  expect(scene.agents.completed[0]?.queries).toMatchObject([{ rows: 2 }]);
});

test('the steps before a failure are reported with it', async () => {
  await dispatched([read, { kind: 'failure', status: 401 }]);
  await failed();
  const [{ failure: reason, queries, record } = {}] = scene.agents.failed;
  expect([reason?.code, queries?.map(({ statement }) => statement)]).toEqual(['provider_error', ['select id from notes order by id']]);
  expect(record?.steps.map(({ name, rows, query }) => [name, rows, query])).toEqual([['query', 2, 1]]);
});

test('the result, the use of the model and every step are reported with the answer', async () => {
  const refusedQuery: ModelReply = { kind: 'tools', calls: [{ name: 'query', arguments: { sql: 'select secret from elsewhere' } }] };
  const chart = '```vega-lite\n{"mark":"bar"}\n```';
  await dispatched([refusedQuery, read, { kind: 'text', text: `Two.\n\n${chart}` }]);
  await completed();
  const { record, inputTokens, outputTokens, refused } = scene.agents.completed[0] ?? {};
  expect(record?.usage).toEqual({ model: 'm', inputTokens, outputTokens, latencyMs: expect.any(Number) });
  expect(JSON.parse(record?.resultJson ?? '')).toEqual({
    columns: [{ name: 'id', type: 'number' }],
    rows: [[1], [2]],
    row_count: 2,
    truncated: false,
    chart: { mark: 'bar' },
  });
  expect(record?.steps).toMatchObject([
    { name: 'query', detail: 'select secret from elsewhere', rows: 0, error: expect.stringContaining('elsewhere'), query: 0 },
    { name: 'query', detail: '', rows: 2, error: '', query: 1 },
  ]);
  expect(refused).toBe(false);
});

test('an answer from a JSON value that is nested too deep to be written again has it as text', async () => {
  const deep = `${'['.repeat(5_000)}1${']'.repeat(5_000)}`;
  const sql = "select (repeat('[', 5000) || '1' || repeat(']', 5000))::json as facts";
  await dispatched([{ kind: 'tools', calls: [{ name: 'query', arguments: { sql } }] }]);
  await completed();
  const { rows } = JSON.parse(scene.agents.completed[0]?.record?.resultJson ?? '');
  expect(rows).toEqual([[deep]]);
});

test('a change is claimed before it runs and finished after; an invalid change claims nothing', async () => {
  await dispatched([{ kind: 'tools', calls: [{ name: 'change', arguments: { table: 'notes', rows: [] } }] }, edit(1), edit(77)]);
  await completed();
  expect(scene.agents.steps.map(({ kind, step, description }) => [kind, step, description])).toEqual([
    ['change', 1, 'update notes (1 row)'],
    ['change', 2, 'update notes (1 row)'],
  ]);
  expect(scene.agents.finished.map(({ step, rows, undone }) => [step, rows, undone])).toEqual([
    [1, 1, false],
    [2, 0, true],
  ]);
  expect(await editsOf(1)).toBe(1);
});

test('an attempt after one that has changed data ends at once, without calling the model', async () => {
  const callsBefore = scene.model.calls.length;
  await dispatched([edit(2)], {}, { changedBefore: true });
  await failed();
  expect(failure()).toMatchObject({ code: 'change_unfinished', message: expect.stringContaining('may have been written') });
  expect(scene.model.calls).toHaveLength(callsBefore);
});

test('a result that agents rejects for good after a change fails the answer with its steps, and says that data was changed', async () => {
  await dispatched([edit(1)], { complete: () => 'invalid_request' });
  await failed();
  expect(failure()).toMatchObject({ code: 'internal', message: expect.stringContaining(changedBefore) });
  expect(scene.agents.failed[0]?.record?.steps.map(({ name }) => name)).toEqual(['change']);
});

test('steps that agents rejects with a failure as well are left out of it', async () => {
  await dispatched([edit(1)], { complete: () => 'invalid_request', fail: ({ record }) => (record ? 'invalid_request' : undefined) });
  await until('the failure is accepted', () => scene.agents.failed.length === 2);
  expect(scene.agents.failed.map(({ record }) => record === undefined || record === null)).toEqual([false, true]);
  expect(scene.agents.failed[1]?.failure?.message).toContain(changedBefore);
});

test('a change whose claim is refused is not made and ends the answer', async () => {
  await dispatched([edit(2)], { authorize: () => 'change_unfinished' });
  await failed();
  expect(failure()?.code).toBe('change_unfinished');
  expect([await editsOf(2), scene.agents.finished]).toEqual([0, []]);
});

test('a step of a superseded attempt ends the work without a report', async () => {
  await dispatched([read], { authorize: () => 'attempt_superseded' });
  await until('the step was requested', () => scene.agents.steps.length === 1);
  await until('no job is active', async () => (await scene.dispatcher.counts()).active === 0);
  expect([scene.agents.completed, scene.agents.failed, scene.agents.returned]).toEqual([[], [], []]);
});

test('a step waits while agents is unavailable, and is made once', async () => {
  let refusals = 3;
  await dispatched([edit(2)], { authorize: () => (refusals-- > 0 ? 'unavailable' : connected.authorize()) });
  await completed();
  expect(scene.agents.steps.map(({ step }) => step)).toEqual([1, 1, 1, 1]);
  expect([await editsOf(2), scene.agents.finished.length]).toEqual([1, 1]);
});

test('two statements of an answer run at the same time, and the others wait', async () => {
  const slow = { name: 'query', arguments: { sql: 'select count(*) from generate_series(1, 2000000), notes' } };
  await dispatched([{ kind: 'tools', calls: Array(5).fill(slow) }]);
  let most = 0;
  await until('it is completed', async () => {
    const { rows } = await sql(
      `select count(*) from pg_catalog.pg_stat_activity where state = 'active' and query like '%2000000%' and pid <> pg_catalog.pg_backend_pid()
         and datname = pg_catalog.current_database() and leader_pid is null`,
    );
    most = Math.max(most, Number(rows[0]?.[0]));
    return scene.agents.completed.length === 1;
  });
  expect([most, scene.agents.completed[0]?.queries?.map(({ rows }) => rows)]).toEqual([2, [1, 1, 1, 1, 1]]);
});

test('without a data source or a scope there are no tools', async () => {
  for (const attempt of [{ sourceVersion: 0 }, { dataScope: { tables: [], readOnly: true } }]) {
    scene.reset();
    await dispatched([], {}, attempt);
    await completed();
    expect(scene.model.calls.at(-1)?.tools).toBeUndefined();
  }
});
