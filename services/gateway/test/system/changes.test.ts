import type { ChatRequest } from '@agent-service/testkit';
import { until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { type DataWorld, dataOf, type Message, startDataWorld } from './data-world.ts';

let world: DataWorld;
const business = 'business';
const organizationPath = () => ({ organizationId: world.organizationId, environment: 'live' });

beforeAll(async () => {
  world = await startDataWorld();
  await world.sql(`create database ${business}`);
  await world.sql(`create table notes (id integer primary key, edits integer not null default 0, secret text default 'CANARY')`, business);
  await world.sql('insert into notes (id) select generate_series(1, 9)', business);
  await world.sql('create table events (id bigint primary key, amount numeric)', business);
  await world.sql('insert into events values (9007199254740992, 0), (9007199254740993, 0)', business);
  await world.sql('create table parents (id integer primary key, name text)', business);
  await world.sql('create table children (id integer primary key, parent integer references parents on delete cascade)', business);
  await world.sql("insert into parents values (1, 'one'); insert into children values (1, 1)", business);
  await world.sql("create role editor login password 'editor-password'");
  await world.sql('grant select, update, insert, delete on notes, events, parents to editor', business);
  await world.sql(`grant connect on database ${business} to editor`);
  await world.operator.connectDataSource({ ...organizationPath(), url: world.urlOf(business, 'editor', 'editor-password') });
}, 120_000);
afterAll(() => world?.stop());

const edit = (id: number, edits: number) => ({
  name: 'change',
  arguments: { table: 'notes', operation: 'update', rows: [{ key: { id }, values: { edits } }] },
});
const editsOf = async (id: number) => Number((await world.sql(`select edits from notes where id = ${id}`, business))[0]?.[0]);
const stepOf = ({ messages }: ChatRequest) => messages.filter(({ role }) => role === 'assistant').length;
/** The audit entries of an answer's changes, oldest first. */
const auditOf = async (messageId: string) => {
  const path = `/v1/audit?target=${messageId}`;
  const entries = dataOf<{ action: string; actor: object; changes: object }[]>(await world.call(world.keys.live, 'GET', path));
  return entries.filter(({ action }) => action.startsWith('business_data.')).reverse();
};
const claimsOf = async () =>
  await world.sql('select answer_id, attempt, finished_at is not null from agents.answer_steps order by claimed_at');

/** Counts in the database how often each row was changed. */
async function countEdits(): Promise<void> {
  await world.sql(
    `create table if not exists changes_made (id integer); create or replace function count_edit() returns trigger language plpgsql security definer as
       $$ begin insert into public.changes_made values (new.id); return new; end $$;
     create or replace trigger count_edit after update on notes for each row execute function count_edit()`,
    business,
  );
}
const timesEdited = async (id: number) => Number((await world.sql(`select count(*) from changes_made where id = ${id}`, business))[0]?.[0]);

test('a permitted change is made, listed with the answer without its values, and audited', async () => {
  const agentId = await world.agent(['notes(id, edits)'], { readOnly: false });
  world.model.follow((request) =>
    stepOf(request) === 0 ? { kind: 'tools', calls: [edit(1, 7), edit(99, 1)] } : { kind: 'text', text: 'Made.' },
  );
  const message = dataOf<Message>(await world.ask(agentId, 'Set it.'));
  expect(await editsOf(1)).toBe(7);
  expect(message.queries).toMatchObject([{ tables: ['notes'], rows: 1 }]);
  expect(message.queries?.[0]?.statement).toMatch(/^update .*\$1/);
  const toolResults = (world.model.calls.at(-1)?.messages ?? []).flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));
  expect(toolResults).toEqual(['id | edits\n1 | 7\n(1 row)', expect.stringContaining('no row with this key')]);
  expect((await claimsOf()).map(([, , finished]) => finished)).toEqual(['t']);
  await until(async () => (await auditOf(message.id)).length === 4);
  const users = dataOf<{ id: string; role: string }[]>(await world.call(world.keys.live, 'GET', '/v1/users'));
  const actor = { type: 'user', id: users.find(({ role }) => role === 'admin')?.id, key_id: null };
  const change = { table: 'notes', operation: 'update', agent_id: agentId, conversation_id: message.conversation_id };
  expect((await auditOf(message.id)).toSorted((a, b) => (a.action < b.action ? -1 : 1))).toMatchObject([
    { action: 'business_data.change_started', actor, changes: change },
    { action: 'business_data.change_started', actor, changes: change },
    { action: 'business_data.change_undone', actor, outcome: 'failure', changes: { ...change, rows: 0 } },
    { action: 'business_data.changed', actor, outcome: 'success', changes: { ...change, rows: 1, keys: [{ id: 1 }] } },
  ]);
});

test('large numbers are changed as strings, and a change that would affect rows outside of the scope is refused', async () => {
  const agentId = await world.agent(['events', 'parents'], { readOnly: false });
  const call = (table: string, operation: string, row: object) => ({ name: 'change', arguments: { table, operation, rows: [row] } });
  const [asNumber, asString] = [
    call('events', 'delete', { key: { id: 2 ** 53 } }),
    call('events', 'delete', { key: { id: '9007199254740993' } }),
  ];
  const calls = [asNumber, asString, call('parents', 'delete', { key: { id: 1 } })];
  world.model.follow((request) => (stepOf(request) === 0 ? { kind: 'tools', calls } : { kind: 'text', text: 'Done.' }));
  const message = dataOf<Message>(await world.ask(agentId, 'Remove them.'));
  const toolResults = (world.model.calls.at(-1)?.messages ?? []).flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));
  expect(toolResults).toEqual([
    expect.stringContaining('write it as a string'),
    expect.stringContaining('9007199254740993'),
    'Rows of parents cannot be deleted: foreign keys would change rows that are not in scope.',
  ]);
  expect(await world.sql('select id from events', business)).toEqual([['9007199254740992']]);
  expect(await world.sql('select id from children', business)).toEqual([['1']]);
  await until(async () => (await auditOf(message.id)).length === 4);
  // A malformed change is not claimed; one of the valid changes was made.
  const changed = (await auditOf(message.id)).filter(({ action }) => action === 'business_data.changed');
  expect(changed).toMatchObject([{ changes: { table: 'events', operation: 'delete', keys: [{ id: '9007199254740993' }] } }]);
});

test('a failure after a change reports that the change is stored', async () => {
  const agentId = await world.agent(['notes(id, edits)'], { readOnly: false });
  world.model.follow((request) => (stepOf(request) === 0 ? { kind: 'tools', calls: [edit(2, 5)] } : { kind: 'failure', status: 401 }));
  const answer = await world.ask(agentId, 'Set it.');
  const { code, message } = answer.json<{ error: { code: string; message: string } }>().error;
  expect([answer.status, code]).toEqual([502, 'provider_error']);
  expect(message).toContain('had been changed before');
  expect(await editsOf(2)).toBe(5);
});

test('a permission that is removed during an answer applies to its next change', async () => {
  const agentId = await world.agent(['notes(id, edits)'], { readOnly: false });
  world.model.follow(async (request) => {
    const step = stepOf(request);
    if (step === 1) dataOf(await world.call(world.keys.live, 'PATCH', `/v1/agents/${agentId}`, { data_scope: { read_only: true } }));
    return step < 2 ? { kind: 'tools', calls: [edit(3, step + 1)] } : { kind: 'text', text: 'Done.' };
  });
  dataOf(await world.ask(agentId, 'Set it twice.'));
  expect(await editsOf(3)).toBe(1);
  expect(String(world.model.calls.at(-1)?.messages.at(-1)?.content)).toContain('may only read');
});

/** Locks this row until the session ends. */
async function locked(id: number): Promise<Client> {
  const session = new Client({ connectionString: world.urlOf(business) });
  await session.connect();
  await session.query('begin');
  await session.query('select from notes where id = $1 for update', [id]);
  return session;
}

const pidOf = (name: string) => world.system.processes.get(name)?.pid as number;

test('a worker that is killed during a change makes it at most once, and the answer reports that it may have been written', async () => {
  await countEdits();
  const [before, within] = [
    await world.agent(['notes(id, edits)'], { readOnly: false }),
    await world.agent(['notes(id, edits)'], { readOnly: false }),
  ];
  const rowOf = (request: ChatRequest) => Number(/row (\d)/.exec(JSON.stringify(request.messages))?.[1]);
  world.model.follow((request) =>
    stepOf(request) === 0 ? { kind: 'tools', calls: [edit(rowOf(request), 1)] } : { kind: 'text', text: 'Made.' },
  );
  const calls = world.model.calls.length;
  const [four, five] = [await locked(4), await locked(5)];
  const claimed = (await claimsOf()).length;
  const answers = [world.ask(before, 'Change row 4.'), world.ask(within, 'Change row 5.')];
  const waiting = async () =>
    Number((await world.sql("select count(*) from pg_stat_activity where usename = 'editor' and wait_event_type = 'Lock'"))[0]?.[0]);
  await until(async () => (await claimsOf()).length === claimed + 2 && (await waiting()) === 2);
  // The change of row 5 is committed while agents is stopped and cannot be notified; that of row 4 is not.
  process.kill(pidOf('agents'), 'SIGSTOP');
  await five.end();
  await until(async () => (await timesEdited(5)) === 1);
  process.kill(pidOf('answer-worker'), 'SIGKILL');
  process.kill(pidOf('agents'), 'SIGCONT');
  await four.end();
  for (const answer of await Promise.all(answers)) {
    const { code, message } = answer.json<{ error: { code: string; message: string } }>().error;
    expect([answer.status, code]).toEqual([409, 'change_unfinished']);
    expect(message).toContain('may have been written');
  }
  // A call to a stopped service may still arrive: row 5 is reported as changed, or as possibly changed.
  for (const [answerId] of (await claimsOf()).slice(claimed)) {
    const ends = async () => (await auditOf(String(answerId))).map(({ action }) => action).slice(1);
    await until(async () => (await ends()).length === 1);
    expect(['business_data.change_unknown', 'business_data.changed']).toContain((await ends())[0]);
  }
  expect(await timesEdited(5)).toBe(1);
  expect(await timesEdited(4)).toBeLessThanOrEqual(1);
  // The second attempt does not even ask the model.
  expect(world.model.calls.length - calls).toBe(2);
});

test('a message that is repeated under its Idempotency-Key after a change and a failure gets the failure, and changes nothing', async () => {
  await countEdits();
  const agentId = await world.agent(['notes(id, edits)'], { readOnly: false });
  world.model.follow((request) => (stepOf(request) === 0 ? { kind: 'tools', calls: [edit(2, 6)] } : { kind: 'failure', status: 401 }));
  const ask = () =>
    world.call(world.keys.live, 'POST', `/v1/agents/${agentId}/messages`, { message: 'Set it.' }, { 'idempotency-key': 'once' });
  const [first, repeated] = [await ask(), await ask()];
  for (const { status, json } of [first, repeated])
    expect([status, json<{ error: { message: string } }>().error.message]).toEqual([
      502,
      expect.stringContaining('had been changed before'),
    ]);
  expect(repeated.headers['idempotent-replayed']).toBe('true');
  expect(await timesEdited(2)).toBe(1);
});
