import {
  createBusinessData,
  createDataSource,
  createStatementGate,
  createTools,
  DataFailure,
  type DataSource,
  type ToolResult,
} from '@agent-service/business-data';
import { ServiceError } from '@agent-service/contracts';
import { countLockWaits, type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { createChanges } from './changes.ts';
import type { RequestedChange, StepPermission, Steps } from './steps.ts';

let business: TestDatabase;
let source: DataSource;
const gate = createStatementGate();

beforeAll(async () => {
  business = await testDatabase();
  source = createDataSource({ url: business.url }, () => undefined);
  await query('create table notes (id integer primary key, edits integer not null); insert into notes values (1, 0), (2, 0)');
});
afterAll(async () => {
  await Promise.all([source?.close(), gate.close()]);
  await business?.drop();
});

async function query(text: string): Promise<unknown[]> {
  const client = await session();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function session(): Promise<Client> {
  const client = new Client({ connectionString: business.url });
  await client.connect();
  return client;
}

const scope = { tables: ['notes'], readOnly: false };
const permission: StepPermission = { scope, sourceVersion: 1 };
const input = { table: 'notes', operation: 'update', rows: [{ key: { id: 1 }, values: { edits: 7 } }] };
const detail = 'update notes (1 row)';
const requested: RequestedChange = {
  description: detail,
  change: { table: 'notes', operation: 'update', rows: 1, keysJson: '[{"id":1}]' },
};

/** Recorded steps in place of `agents`; a code refuses the claim. */
function scene({ refusal, finishing }: { refusal?: ServiceError; finishing?: ServiceError } = {}) {
  const calls: unknown[] = [];
  const record = async (...call: unknown[]) => {
    calls.push(call);
    if (finishing) throw finishing;
  };
  const steps: Steps = {
    authorizeRead: async () => permission,
    async claimChange(step, change) {
      calls.push(['claim', step, change]);
      if (refusal) throw refusal;
      return permission;
    },
    reportChanged: (step, rows) => record('changed', step, rows),
    reportUnchanged: (step) => record('undone', step),
    reportUnknown: (step) => record('unknown', step),
    loadSource: async () => undefined,
  };
  return { calls, changes: createChanges(steps) };
}

/** The real tool over the real database. */
function change(toolInput: unknown, signal?: AbortSignal): Promise<ToolResult> {
  const tool = createTools(createBusinessData({ source, gate: gate.of('test'), scope }), scope).find(({ writes }) => writes);
  if (!tool) throw new Error('there is no tool that writes');
  return tool.run(toolInput, { signal, timeoutMs: 5_000 });
}

const failing = (kind: 'unknown' | 'failed') => async () => ({ text: kind, failure: new DataFailure(kind, kind) });
const timeout = new ServiceError('answer_timeout');
const codeOf = async (work: Promise<unknown>) => ServiceError.from(await work.catch((cause: unknown) => cause)).code;

test('a change is claimed with its table, operation and rows, and reported with the number of changed rows', async () => {
  const { calls, changes } = scene();
  await changes.make(input, () => change(input));
  expect(calls).toEqual([
    ['claim', 1, requested],
    ['changed', 1, 1],
  ]);
  expect(await query('select edits from notes where id = 1')).toEqual([{ edits: 7 }]);
  expect(changes.failure(timeout).message).toContain('had been changed before');
});

test('a change that failed is reported as undone, and the next change is another step', async () => {
  const { calls, changes } = scene();
  const missing = { ...input, rows: [{ key: { id: 99 }, values: { edits: 1 } }] };
  expect((await changes.make(missing, () => change(missing))).failure?.kind).toBe('failed');
  await changes.make(input, () => change(input));
  expect(calls.filter((call) => (call as unknown[])[0] !== 'claim')).toEqual([
    ['undone', 1],
    ['changed', 2, 1],
  ]);
});

test('a change that is cancelled before its commit is reported as undone', async () => {
  const { calls, changes } = scene();
  const holder = await session();
  await holder.query('begin; update notes set edits = 0 where id = 2');
  const abort = new AbortController();
  const row = { ...input, rows: [{ key: { id: 2 }, values: { edits: 5 } }] };
  const making = changes.make(row, () => change(row, abort.signal)).catch((cause: unknown) => cause);
  await until('the change waits for the row', async () => (await countLockWaits(business.url)) > 0);
  abort.abort();
  expect(await making).toMatchObject({ kind: 'cancelled' });
  await holder.query('commit');
  await holder.end();
  expect(calls.at(-1)).toEqual(['undone', 1]);
  expect(await query('select edits from notes where id = 2')).toEqual([{ edits: 0 }]);
  expect(changes.failure(timeout)).toBe(timeout);
});

test('a change whose data source is away before anything was sent is reported as undone', async () => {
  const { calls, changes } = scene();
  const away = new DataFailure('unavailable', 'The data source cannot be read.');
  await expect(changes.make(input, () => Promise.reject(away))).rejects.toBe(away);
  expect(calls.at(-1)).toEqual(['undone', 1]);
  expect(changes.failure(timeout)).toBe(timeout);
});

test('a change with an unknown outcome is reported as unknown and ends the answer', async () => {
  const { calls, changes } = scene();
  expect(await codeOf(changes.make(input, failing('unknown')))).toBe('change_unfinished');
  expect(calls.at(-1)).toEqual(['unknown', 1]);
  expect(changes.failure(timeout).code).toBe('change_unfinished');
});

test('an unknown outcome ends the answer even when the report fails', async () => {
  const { changes } = scene({ finishing: new ServiceError('unavailable') });
  const failure = await changes.make(input, failing('unknown')).catch((cause: unknown) => cause);
  expect(failure).toMatchObject({ code: 'change_unfinished', cause: { errors: [{ kind: 'unknown' }, { code: 'unavailable' }] } });
});

test('any other error during a change or its report leaves it unfinished', async () => {
  const { calls, changes } = scene();
  const bug = new Error('a mistake of ours');
  await expect(changes.make(input, () => Promise.reject(bug))).rejects.toBe(bug);
  expect(calls).toEqual([['claim', 1, requested]]);
  expect(changes.failure(timeout).code).toBe('change_unfinished');
  const unreported = scene({ finishing: new ServiceError('unavailable') });
  expect(await codeOf(unreported.changes.make(input, failing('failed')))).toBe('unavailable');
  expect(unreported.changes.failure(timeout).code).toBe('change_unfinished');
});

test('a refused claim changes nothing: the model reads the reason, or the answer ends', async () => {
  const mayOnlyRead = scene({ refusal: new ServiceError('invalid_request', { message: 'This agent may only read.' }) });
  const never = () => Promise.reject(new Error('it ran'));
  expect(await mayOnlyRead.changes.make(input, never)).toEqual({ text: 'This agent may only read.' });
  expect(mayOnlyRead.changes.failure(timeout)).toBe(timeout);
  const unfinished = scene({ refusal: new ServiceError('change_unfinished') });
  expect(await codeOf(unfinished.changes.make(input, never))).toBe('change_unfinished');
  expect(unfinished.calls).toHaveLength(1);
});
