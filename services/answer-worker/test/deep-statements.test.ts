import { createDataSource, type DataSource } from '@agent-service/business-data';
import type { RunningProcess } from '@agent-service/runtime';
import { type ModelReply, type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bootWorker, type Scene, setScene } from './support/scene.ts';

let scene: Scene;
let worker: RunningProcess;
let business: TestDatabase;
let database: DataSource;

beforeAll(async () => {
  [scene, business] = await Promise.all([setScene(), testDatabase()]);
  worker = await bootWorker(scene);
  database = createDataSource({ url: business.url }, () => undefined);
  const limits = { timeoutMs: 5_000, maxRows: 10, maxBytes: 10_000, timeZone: 'UTC' };
  await database.transaction('read write', limits, (run) => run('create table public.notes as select generate_series(1, 2) as id'));
});
afterAll(async () => {
  await worker?.stop();
  await database?.close();
  await business?.drop();
  await scene?.stop();
});

const query = (sql: string) => ({ name: 'query', arguments: { sql } });
const honest: ModelReply = { kind: 'tools', calls: [query('select id from notes order by id')] };
/** Eight statements of 12 to 16 kB: about 130 of them broke the parser of all answers, and mixed with others made it hang. */
const deep: ModelReply = {
  kind: 'tools',
  calls: Array.from({ length: 8 }, (_, number) => query(`select 1${'+1'.repeat(6_000 + number * 200)}`)),
};
const attackers = Array.from({ length: 20 }, (_, number) => `msg_deep_${number}`);
const done: ModelReply = { kind: 'text', text: 'Done.' };

test('answers whose models send deep statements break no other answer of the worker', async () => {
  const scope = { tables: ['notes'], readOnly: true };
  Object.assign(scene.agents.script, {
    begin: () => ({ dataScope: scope, sourceVersion: 1 }),
    authorize: () => ({ dataScope: scope, sourceVersion: 1 }),
    source: () => ({ url: business.url, caCertificate: '', version: 1, allowSuperuser: true }),
  });
  scene.model.follow(({ messages }) => (messages.at(-1)?.role === 'tool' ? done : deep));
  // Five at a time: a thread checks the statements of a tenant one after the other, and none of them may wait for long.
  for (let ended = 5; ended <= attackers.length; ended += 5) {
    await scene.dispatcher.dispatch(attackers.slice(ended - 5, ended));
    await until('the deep statements are refused', () => scene.agents.completed.length + scene.agents.failed.length === ended);
  }
  expect(scene.agents.failed.map(({ failure }) => failure)).toEqual([]);
  const first = scene.model.calls.length;
  scene.model.follow((_request, call) => (call === first + 1 ? honest : done));
  await scene.dispatcher.dispatch(['msg_honest']);
  await until('an honest answer is completed', () => scene.agents.completed.length === 21);
  expect(scene.agents.completed[20]?.queries?.map(({ rows }) => rows)).toEqual([2]);
  expect(await worker.health.report()).toEqual({ ready: true, faults: {} });
}, 120_000);
