import { publicErrorCodes } from '@agent-service/contracts';
import type { Store } from '@agent-service/store';
import type { AuditPayload } from '@agent-service/store/outbox/audit';
import { countLockWaits, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { reportOrphanedClaims } from '../src/data-sources/store/step-audit.ts';
import { removeOldClaims } from '../src/data-sources/store/steps.ts';
import { asCaller, type BootedService, boot, createAgent } from './boot.ts';
import { StoredConversations } from './stored-conversations.ts';

let service: BootedService;
let serial = 0;
let clock = Date.parse('2026-11-20T10:00:00.000Z');

beforeAll(async () => {
  service = await boot({ now: () => clock });
});
afterAll(() => service?.stop());

const codeOf = async (work: Promise<unknown>): Promise<unknown> =>
  await work.then(
    () => 'done',
    ({ code }: { code: string }) => code,
  );
const sql = async <Row>(text: string, values: readonly unknown[] = []) =>
  (await service.database.query(text, [...values])).rows as unknown as Row[];

const store = { transaction: (work: (transaction: object) => unknown) => work({ sql }) } as unknown as Store;

const described = { description: 'update orders (2 rows)' };
const keys = [{ id: 1 }, { id: 2 }];
const request = { ...described, change: { table: 'orders', operation: 'update', rows: 2, keysJson: JSON.stringify(keys) } };

/** An answer that is being worked on, and what its worker and the audit log say of its changes. */
async function runningAnswer(environment: 'live' | 'test' = 'live') {
  serial += 1;
  const mine = { organizationId: `org_${serial}`, environment };
  const agentId = await createAgent(service.gateway, { dataScope: { tables: ['orders'], readOnly: false } }, mine);
  await asCaller(mine, () => service.gateway.updateAgent({ agentId, status: 'active' }));
  const talk = new StoredConversations(service.database, { ...mine, agentId, userId: `usr_of_${serial}` });
  const conversationId = await talk.begin(clock);
  const answerId = await talk.ask(conversationId, clock);
  const set = (column: string, value: unknown) => sql(`update answers set ${column} = $1 where id = $2`, [value, answerId]);
  await set('request_id', `req_${serial}`);
  await set('attempt', 1);
  const answer = (attempt: number) => ({ answer: { ...mine, answerId }, attempt });
  return {
    answerId,
    set,
    end: () => talk.end(conversationId, answerId, clock, 'failed'),
    facts: {
      agent_id: agentId,
      conversation_id: conversationId,
      attempt: 1,
      table: 'orders',
      operation: 'update',
      change: described.description,
    },
    of: { ...mine, userId: `usr_of_${serial}`, requestId: `req_${serial}` },
    claim: (step: number, attempt = 1, more: object = request, options = {}) =>
      service.worker.authorizeStep({ answer: answer(attempt), step, kind: 'change', ...more }, options),
    finish: (step: number, end: { rows?: number; undone?: boolean; unknown?: boolean }, attempt = 1) =>
      service.worker.finishStep({ answer: answer(attempt), step, ...end }),
    entries: async (): Promise<AuditPayload[]> => {
      const rows = await sql<{ payload: AuditPayload }>(
        `select payload from outbox where topic = 'audit' and payload ->> 'targetId' = $1 order by id`,
        [answerId],
      );
      return rows.map(({ payload }) => payload);
    },
  };
}

const outcomesOf = (entries: readonly AuditPayload[]) => entries.map(({ action, outcome }) => [action, outcome]);
const changesOf = (entry: AuditPayload | undefined) => JSON.parse(entry?.changesJson ?? '');
const started = ['business_data.change_started', 'success'];
const changed = ['business_data.changed', 'success'];
const undone = ['business_data.change_undone', 'failure'];
const unknown = ['business_data.change_unknown', 'unknown'];
/** The sweeps that the service runs by itself. */
const sweep = async () => (await reportOrphanedClaims(store, clock)) + (await removeOldClaims(sql, clock));

test('the audit log reports a change when it is claimed and when it is made, with its caller, table and keys', async () => {
  const { claim, finish, entries, facts, of, answerId } = await runningAnswer('test');
  await claim(1);
  expect(outcomesOf(await entries())).toEqual([started]);
  clock += 1_000;
  await finish(1, { rows: 2 });
  const [begin, end] = await entries();
  for (const entry of [begin, end])
    expect(entry).toMatchObject({
      organizationId: of.organizationId,
      environment: 'test',
      actorType: 'user',
      actorId: of.userId,
      actorKeyId: '',
      targetType: 'answer',
      targetId: answerId,
      requestId: of.requestId,
    });
  expect(outcomesOf(await entries())).toEqual([started, changed]);
  expect([begin?.createdAt, end?.createdAt]).toEqual([clock - 1_000, clock].map((at) => new Date(at).toISOString()));
  // The keys come from the model and were not checked.
  expect(changesOf(begin)).toEqual({ ...facts, step: 1, rows: 2 });
  expect(changesOf(end)).toEqual({ ...facts, step: 1, rows: 2, keys });
});

test('a repeated claim and a repeated report write no second entry', async () => {
  const { claim, finish, entries } = await runningAnswer();
  await Promise.all([claim(1), claim(1), claim(1)]);
  expect(outcomesOf(await entries())).toEqual([started]);
  await Promise.all([finish(1, { rows: 2 }), finish(1, { rows: 2 })]);
  await finish(1, { undone: true });
  await finish(1, { unknown: true });
  expect(outcomesOf(await entries())).toEqual([started, changed]);
  await sweep();
  expect(outcomesOf(await entries())).toEqual([started, changed]);
});

test('a change that was rolled back is reported once without its rows, and the next attempt may make it', async () => {
  const { claim, finish, entries, facts, set } = await runningAnswer();
  await claim(1);
  await Promise.all([finish(1, { undone: true }), finish(1, { undone: true })]);
  expect(outcomesOf(await entries())).toEqual([started, undone]);
  expect(changesOf((await entries())[1])).toEqual({ ...facts, step: 1, rows: 0 });
  await set('attempt', 2);
  await claim(1, 2);
  await finish(1, { rows: 2 }, 2);
  expect(outcomesOf(await entries())).toEqual([started, undone, started, changed]);
  expect(changesOf((await entries())[3])).toMatchObject({ attempt: 2 });
});

test('a change whose claim was refused is not reported', async () => {
  const { claim, entries, set, facts } = await runningAnswer();
  for (const refusing of ['read_only = true', "status = 'inactive'"]) {
    await sql(`update agents set ${refusing} where id = $1`, [facts.agent_id]);
    expect(await codeOf(claim(1))).toBe('invalid_request');
  }
  expect(await codeOf(claim(1, 2))).toBe('attempt_superseded');
  await set('state', 'settling');
  expect(await codeOf(claim(1))).toBe('attempt_superseded');
  expect(await entries()).toEqual([]);
});

test('a change whose commit was lost is reported at once; its claim stays, and the sweep adds no report', async () => {
  const { claim, finish, entries, facts, set } = await runningAnswer();
  await claim(1);
  await Promise.all([finish(1, { unknown: true }), finish(1, { unknown: true })]);
  expect(outcomesOf(await entries())).toEqual([started, unknown]);
  expect(changesOf((await entries())[1])).toEqual({ ...facts, step: 1, rows: 2, keys });
  await set('attempt', 2);
  await sweep();
  expect(await codeOf(claim(1, 2))).toBe('change_unfinished');
  expect(outcomesOf(await entries())).toEqual([started, unknown]);
});

test('a change that was claimed and never finished is reported when its answer has ended, and not before', async () => {
  const { claim, entries, end } = await runningAnswer();
  await claim(1);
  await sweep();
  expect(outcomesOf(await entries())).toEqual([started]);
  await end();
  await Promise.all([sweep(), sweep()]);
  await sweep();
  expect(outcomesOf(await entries())).toEqual([started, unknown]);
});

test('a claim of an answer that waits for its hold to be released is reported as well', async () => {
  const { claim, entries, set } = await runningAnswer();
  await claim(1);
  await set('state', 'releasing');
  await sweep();
  expect(outcomesOf(await entries())).toEqual([started, unknown]);
});

test('an attempt that meets an unfinished change is refused, and the log says that the change may have been made', async () => {
  const { claim, entries, set, of, facts } = await runningAnswer();
  await claim(1);
  await claim(2, 1, { ...request, change: { ...request.change, operation: 'delete' } });
  await set('attempt', 2);
  expect(await codeOf(claim(1, 2))).toBe('change_unfinished');
  expect(await entries()).toHaveLength(4);
  expect(await codeOf(claim(1, 2))).toBe('change_unfinished');
  await sweep();
  const all = await entries();
  expect(outcomesOf(all)).toEqual([started, started, unknown, unknown]);
  for (const entry of all) expect([entry.actorType, entry.actorId, entry.requestId]).toEqual(['user', of.userId, of.requestId]);
  const ends = all
    .slice(2)
    .map(changesOf)
    .toSorted((a, b) => a.step - b.step);
  expect(ends).toEqual([
    { ...facts, step: 1, rows: 2, keys },
    { ...facts, operation: 'delete', step: 2, rows: 2, keys },
  ]);
});

test('an attempt that is superseded while it claims a change claims none', async () => {
  const { claim, entries, answerId } = await runningAnswer();
  const superseding = await service.database.connect();
  try {
    await superseding.query('begin');
    await superseding.query('update answers set attempt = 2 where id = $1', [answerId]);
    const claimed = codeOf(claim(1));
    await Promise.race([claimed, until('the claim waits', async () => (await countLockWaits(service.databaseUrl)) > 0)]);
    await superseding.query('commit');
    expect(await claimed).toBe('attempt_superseded');
  } finally {
    superseding.release();
  }
  expect(await entries()).toEqual([]);
});

test('a cancelled answer mentions a change that is claimed while its cancellation waits', async () => {
  const { claim, of, facts, answerId } = await runningAnswer();
  await sql(`insert into answer_lines (organization_id, environment, in_flight) values ($1, 'live', 1)`, [of.organizationId]);
  const holding = await service.database.connect();
  try {
    await holding.query('begin');
    await holding.query('select 1 from answer_lines where organization_id = $1 for update', [of.organizationId]);
    const cancelled = asCaller(of, () => service.gateway.cancelAnswer({ agentId: facts.agent_id, messageId: answerId }));
    await until('the cancellation waits', async () => (await countLockWaits(service.databaseUrl)) > 0);
    await claim(1);
    await holding.query('commit');
    expect((await cancelled).message?.content).toContain(publicErrorCodes.change_unfinished.message);
  } finally {
    holding.release();
  }
});

test('a claim whose worker was told that it took too long is not stored', async () => {
  const { claim, entries, answerId } = await runningAnswer();
  const locking = await service.database.connect();
  try {
    await locking.query('begin');
    await locking.query('select 1 from answers where id = $1 for update', [answerId]);
    expect(await codeOf(claim(1, 1, request, { timeoutMs: 500 }))).toBe('deadline_exceeded');
    await locking.query('commit');
  } finally {
    locking.release();
  }
  const busy = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`;
  await until('the call is over', async () => (await sql(busy)).length === 0);
  expect(await entries()).toEqual([]);
});

test('an attempt that begins after an unfinished change reports it, although it claims no change', async () => {
  const { claim, entries, set } = await runningAnswer();
  await claim(1);
  await set('attempt', 2);
  await sweep();
  expect(outcomesOf(await entries())).toEqual([started, unknown]);
});

test('a claim that another session holds locked delays the report of no other', async () => {
  const [locked, other] = [await runningAnswer(), await runningAnswer()];
  for (const { claim } of [locked, other]) await claim(1);
  const locking = await service.database.connect();
  try {
    await locking.query('begin');
    await locking.query('select 1 from answer_steps where answer_id = $1 for update', [locked.answerId]);
    for (const { set } of [locked, other]) await set('attempt', 2);
    await sweep();
    expect([outcomesOf(await locked.entries()), outcomesOf(await other.entries())]).toEqual([[started], [started, unknown]]);
    await locking.query('commit');
  } finally {
    locking.release();
  }
  await sweep();
  expect(outcomesOf(await locked.entries())).toEqual([started, unknown]);
});

test('a late result replaces the report of an unknown one: the change was made, or was not', async () => {
  const { claim, finish, entries, set } = await runningAnswer();
  await claim(1);
  await claim(2);
  await set('attempt', 2);
  await sweep();
  await finish(1, { rows: 2 });
  await finish(2, { undone: true });
  expect(outcomesOf(await entries())).toEqual([started, started, unknown, unknown, changed, undone]);
});

test('a worker of the former version reports by text only, and its claims name no user', async () => {
  const { claim, finish, entries } = await runningAnswer();
  await claim(1, 1, described);
  await finish(1, { rows: 2 });
  expect((await entries()).map(changesOf)).toMatchObject([
    { change: 'update orders (2 rows)', table: '', operation: '', rows: 0 },
    { change: 'update orders (2 rows)', rows: 2 },
  ]);
  await claim(2);
  await sql(`update answer_steps set user_id = '' where user_id <> '' and finished_at is null`);
  await finish(2, { rows: 2 });
  expect((await entries()).at(-1)).toMatchObject({ actorType: 'service', actorId: 'answer-worker' });
});

test('the report of a change is bounded, with names of any length', async () => {
  const { claim, finish, entries } = await runningAnswer();
  const wild = { table: `a\0${'b'.repeat(500)}`, operation: 'drop', rows: -1, keysJson: '{"id":1}' };
  await claim(1, 1, { description: `\0${'x'.repeat(600)}`, change: wild });
  await finish(1, { rows: 1 });
  const [begin, end] = (await entries()).map(changesOf);
  expect([begin.change.length, begin.table.length, begin.operation, begin.rows]).toEqual([500, 200, '', 0]);
  expect(end).not.toHaveProperty('keys');
  for (const keysJson of ['not json', `[${'{"id":1},'.repeat(2_000)}{}]`]) {
    const { claim: other, finish: ending, entries: itsEntries } = await runningAnswer();
    await other(1, 1, { ...request, change: { ...request.change, keysJson } });
    await ending(1, { rows: 2 });
    expect((await itsEntries()).map(changesOf).every((changes) => !('keys' in changes))).toBe(true);
  }
});

test('a claim whose keys cannot be read is reported without them and delays no other claim', async () => {
  const [broken, intact] = [await runningAnswer(), await runningAnswer()];
  for (const { claim } of [broken, intact]) await claim(1);
  await sql('update answer_steps set keys_json = $1 where answer_id = $2', ['[{"id":', broken.answerId]);
  for (const { end } of [broken, intact]) await end();
  await sweep();
  for (const { entries } of [broken, intact]) expect(outcomesOf(await entries())).toEqual([started, unknown]);
  expect(changesOf((await broken.entries())[1])).toEqual({ ...broken.facts, step: 1, rows: 2, keys_unreadable: true });
  expect(changesOf((await intact.entries())[1])).toEqual({ ...intact.facts, step: 1, rows: 2, keys });
  await broken.finish(1, { rows: 2 });
  expect(outcomesOf(await broken.entries())).toEqual([started, unknown, changed]);
});

test('claims are removed after a week, and none before its end is reported', async () => {
  const { claim, entries, set, end, answerId } = await runningAnswer();
  await claim(1);
  for (const limit of ['deadline', 'due']) await set(limit, new Date(clock + 30 * 86_400_000));
  const left = async () =>
    (await sql<{ count: number }>('select count(*)::int as count from answer_steps where answer_id = $1', [answerId]))[0]?.count;
  clock += 8 * 86_400_000;
  await sweep();
  expect([await left(), outcomesOf(await entries())]).toEqual([1, [started]]);
  await end();
  expect(await sweep()).toBeGreaterThan(0);
  expect([await left(), outcomesOf(await entries())]).toEqual([0, [started, unknown]]);
});
