import { createDataSource, type DataSource, dropScopedRoles } from '@agent-service/business-data';
import type { RunningProcess } from '@agent-service/runtime';
import { type ModelReply, type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { readAnswerWorkerConfig } from '../src/config.ts';
import { tenant } from './support/dispatcher.ts';
import { bootWorker, type Scene, setScene } from './support/scene.ts';
import { settingsFor } from './support/settings.ts';
import { startWorkerProcess, type WorkerProcess } from './support/worker-process.ts';

let scene: Scene;
let business: TestDatabase;
let database: DataSource;
let worker: RunningProcess | undefined;
let processes: WorkerProcess[] = [];
let serial = 0;
const owner = `${tenant.organizationId} ${tenant.environment}`;

beforeAll(async () => {
  [scene, business] = await Promise.all([setScene(), testDatabase()]);
  database = createDataSource({ url: business.url }, () => undefined);
  await sql('create table public.notes (id serial primary key, edits integer not null, secret text)');
  await sql(`insert into public.notes (edits, secret) values (0, 'CANARY')`);
});
beforeEach(() => scene.reset());
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await Promise.all(processes.map((one) => one.kill()));
  processes = [];
  await dropScopedRoles({ url: business.url }, owner);
});
afterAll(async () => {
  await database?.close();
  await business?.drop();
  await scene?.stop();
});

const limits = { timeoutMs: 10_000, maxRows: 10, maxBytes: 10_000, timeZone: 'UTC' };
/** Runs SQL without the tools and gates. */
const sql = (text: string) => database.transaction('read write', limits, (run) => run(text));

const scope = { tables: ['notes(id, edits)'], readOnly: false };
const read: ModelReply = { kind: 'tools', calls: [{ name: 'query', arguments: { sql: 'select id, edits from notes' } }] };
const change = (input: object): ModelReply => ({ kind: 'tools', calls: [{ name: 'change', arguments: { table: 'notes', ...input } }] });
const edit = change({ operation: 'update', rows: [{ key: { id: 1 }, values: { edits: 7 } }] });
const done: ModelReply = { kind: 'text', text: 'Done.' };

/** Dispatches answers whose models each make this step. */
async function dispatched(step: ModelReply, count = 1): Promise<void> {
  scene.model.follow(({ messages }) => (messages.some(({ role }) => role === 'tool') ? done : step));
  Object.assign(scene.agents.script, {
    source: () => ({ url: business.url, caCertificate: '', version: 1, allowSuperuser: true }),
    authorize: () => ({ dataScope: scope, sourceVersion: 1 }),
    begin: () => ({ dataScope: scope, sourceVersion: 1 }),
  });
  await scene.dispatcher.dispatch(Array.from({ length: count }, () => `msg_role_${++serial}`));
}

const completed = (count = 1) => until('they are completed', () => scene.agents.completed.length === count);

/** The database user of a statement, read while a lock blocks it. */
async function userBlockedBy(lock: string, step: ModelReply): Promise<string> {
  let user = '';
  await database.transaction('read write', limits, async (run) => {
    await run(lock);
    await dispatched(step);
    await until('it is blocked', async () => {
      const { rows } = await sql(
        `select usename from pg_catalog.pg_stat_activity
         where datname = pg_catalog.current_database() and wait_event_type = 'Lock' and query like '%notes%'`,
      );
      user = String(rows[0]?.[0] ?? '');
      return user !== '';
    });
  });
  await completed();
  scene.reset();
  return user;
}

const onTable = 'lock table public.notes in access exclusive mode';
const onRow = 'update public.notes set edits = edits where id = 1';

async function afterFirst(settings: Record<string, string>): Promise<void> {
  worker = await bootWorker(scene, settings);
  await dispatched(read);
  await completed();
  scene.reset();
}

test('queries and changes run as roles of the scope', async () => {
  await afterFirst({});
  const [reader, writer] = [await userBlockedBy(onTable, read), await userBlockedBy(onRow, edit)];
  expect([reader, writer]).toEqual([expect.stringMatching(/^agent_scope_/), expect.stringMatching(/^agent_scope_/)]);
  expect(reader).not.toBe(writer);
  await dispatched(change({ operation: 'insert', rows: [{ values: { edits: 3 } }] }));
  await completed();
  expect((await sql('select edits, secret from public.notes order by id')).rows).toEqual([
    ['7', 'CANARY'],
    ['3', null],
  ]);
  // The rights of the roles themselves, without the gates.
  const rights = await sql(
    `select pg_catalog.has_column_privilege(rolname, 'public.notes', 'secret', 'select'), pg_catalog.has_table_privilege(rolname, 'public.notes', 'delete')
     from pg_catalog.pg_roles where rolname in ('${reader}', '${writer}')`,
  );
  expect(rights.rows).toEqual([
    ['f', 'f'],
    ['f', 'f'],
  ]);
});

test('where the operator wants none, statements run as the account', async () => {
  await afterFirst({ DATA_SOURCE_ROLES: 'off' });
  expect(await userBlockedBy(onTable, read)).toBe('postgres');
  expect(await userBlockedBy(onRow, edit)).toBe('postgres');
  expect(await roles()).toEqual([]);
});

test('what is neither is said at the start, by the setting’s name', async () => {
  const env = await settingsFor(scene, { DATA_SOURCE_ROLES: 'on' });
  expect(() => readAnswerWorkerConfig(env)).toThrow('DATA_SOURCE_ROLES: must be auto or off');
});

const roles = async () =>
  (
    await sql(
      `select distinct r.rolname from pg_catalog.pg_roles r join pg_catalog.pg_shdepend d on d.refobjid = r.oid
       join pg_catalog.pg_database b on b.oid = d.dbid where b.datname = pg_catalog.current_database() and r.rolname like 'agent#_scope#_%' escape '#'`,
    )
  ).rows;

test('two workers that come to a scope at once make one role of it', async () => {
  const start = () => startWorkerProcess(scene, { ANSWER_CONCURRENCY: '4' });
  processes = await Promise.all([start(), start()]);
  await until('both are ready', async () => (await Promise.all(processes.map((one) => one.isReady()))).every(Boolean));
  await dispatched(read, 16);
  await completed(16);
  expect(scene.agents.completed.map(({ queries }) => queries?.length)).toEqual(Array(16).fill(1));
  await until('both have said so', () => processes.every(({ log }) => log.some(({ event }) => event === 'answer')));
  expect(processes.flatMap(({ log }) => log.filter(({ event }) => String(event).startsWith('data_source')))).toEqual([]);
  expect(await roles()).toHaveLength(1);
});
