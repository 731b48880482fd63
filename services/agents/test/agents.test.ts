import { countLockWaits, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { asCaller, type BootedService, body, boot, createAgent } from './boot.ts';
import { StoredConversations } from './stored-conversations.ts';

let agents: BootedService;
const clock = { now: Date.UTC(2026, 0, 15, 12) };

beforeAll(async () => {
  agents = await boot({ now: () => clock.now, settings: { WEBHOOKS_ENABLED: 'true', WEBHOOKS_ADDRESS: '127.0.0.1:1' } });
});
afterAll(() => agents.stop());

const create = (more: object = {}) => createAgent(agents.gateway, more);
const get = (agentId: string, caller = {}) => asCaller(caller, () => agents.gateway.getAgent({ agentId }));
const update = (agentId: string, more: object = {}, caller = {}) =>
  asCaller(caller, () => agents.gateway.updateAgent({ agentId, ...more }));
const remove = (agentId: string, caller = {}) => asCaller(caller, () => agents.gateway.deleteAgent({ agentId }));

const outbox = async (topic: string, target: string) => {
  const { rows } = await agents.database.query<{ payload: Record<string, unknown> }>(
    `select payload from outbox where topic = $1 and payload::text like '%' || $2 || '%' order by id`,
    [topic, target],
  );
  return rows.map(({ payload }) => payload);
};

test('a new agent is a draft with the given fields and the defaults of the specification', async () => {
  const agentId = await create({
    name: 'Täglich',
    dataScope: { tables: ['orders(id, total)'], readOnly: false },
    suggestedPrompts: ['How many?'],
  });
  const at = new Date(clock.now).toISOString();
  expect((await get(agentId)).agent).toEqual({
    id: agentId,
    name: 'Täglich',
    description: '',
    category: '',
    status: 'draft',
    model: 'Fast',
    createdAt: at,
    updatedAt: at,
    systemPrompt: 'Answer from the orders.',
    dataScope: { tables: ['orders(id, total)'], readOnly: false },
    outputPreferences: { defaultFormat: 'markdown', chartEnabled: false },
    welcomeMessage: '',
    suggestedPrompts: ['How many?'],
    createdBy: 'usr_1',
    sourceTemplateId: '',
    version: 1,
  });
});

test('a change keeps fields that it does not name, replaces lists, and takes empty as a value', async () => {
  const agentId = await create({
    description: 'old',
    category: 'sales',
    suggestedPrompts: ['a', 'b'],
    outputPreferences: { defaultFormat: 'table', chartEnabled: true },
  });
  clock.now += 1_000;
  await update(agentId, {
    description: '',
    dataScope: { tables: { values: ['customers', 'orders'] } },
    outputPreferences: { chartEnabled: false },
    suggestedPrompts: { values: [] },
  });
  expect((await get(agentId)).agent).toMatchObject({
    name: 'Sales',
    description: '',
    category: 'sales',
    dataScope: { tables: ['customers', 'orders'], readOnly: true },
    outputPreferences: { defaultFormat: 'table', chartEnabled: false },
    suggestedPrompts: [],
    version: 2,
    updatedAt: new Date(clock.now).toISOString(),
  });
});

test('an agent is activated, deactivated and activated again, and is never a draft again', async () => {
  const agentId = await create();
  for (const status of ['draft', 'active', 'active', 'inactive', 'inactive', 'active']) {
    expect((await update(agentId, { status })).agent).toMatchObject({ status });
  }
  expect((await get(agentId)).agent).toMatchObject({ version: 4 });
  await expect(update(agentId, { status: 'draft', name: 'not this either' })).rejects.toMatchObject({ code: 'invalid_status_transition' });
  expect((await get(agentId)).agent).toMatchObject({ status: 'active', name: 'Sales', version: 4 });
  await expect(update(await create(), { status: 'inactive' })).rejects.toMatchObject({ code: 'invalid_status_transition' });
});

test('unknown values are refused, and the error names the field', async () => {
  const agentId = await create();
  await expect(update(agentId, { status: 'archived' })).rejects.toMatchObject({ code: 'invalid_request', param: 'status' });
  await expect(update(agentId, { model: 'Slow' })).rejects.toMatchObject({ code: 'invalid_request', param: 'model' });
  await expect(create({ model: 'fast' })).rejects.toMatchObject({ code: 'invalid_request', param: 'model' });
});

test('a change without a difference changes no version or time and writes no audit entry or event', async () => {
  const agentId = await create({ category: 'sales' });
  const before = await get(agentId);
  clock.now += 5_000;
  for (const more of [{}, { name: 'Sales' }, { status: 'draft', category: 'sales' }]) await update(agentId, more);
  expect(await get(agentId)).toEqual(before);
  expect(await outbox('audit', agentId)).toHaveLength(1);
  expect(await outbox('events', agentId)).toHaveLength(1);
});

test('an old version is refused, and of twenty changes of the same version one succeeds', async () => {
  const agentId = await create();
  const tries = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => update(agentId, { name: `name ${n}`, ifVersions: [1] })));
  const won = tries.flatMap((one, n) => (one.status === 'fulfilled' ? [n] : []));
  expect(won).toHaveLength(1);
  for (const one of tries) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'precondition_failed' });
  expect((await get(agentId)).agent).toMatchObject({ name: `name ${won[0]}`, version: 2 });
  await expect(update(agentId, { name: 'late', ifVersions: [1, 3] })).rejects.toMatchObject({ code: 'precondition_failed' });
  expect((await update(agentId, { name: 'in time', ifVersions: [1, 2] })).agent).toMatchObject({ version: 3 });
});

test('a change that waits for that of another replica meets the version that it leaves', async () => {
  const agentId = await create();
  const replica = await agents.database.connect();
  try {
    await replica.query('begin');
    await replica.query(`update agents set name = 'theirs', version = 2 where id = $1`, [agentId]);
    const changed = update(agentId, { name: 'ours', ifVersions: [1] }).catch(({ code }: { code: string }) => code);
    await until('the change waits', async () => (await countLockWaits(agents.databaseUrl)) > 0);
    await replica.query('commit');
    expect(await changed).toBe('precondition_failed');
  } finally {
    replica.release();
  }
  expect((await get(agentId)).agent).toMatchObject({ name: 'theirs', version: 2 });
});

test('an agent that was changed is not deleted in an old version', async () => {
  const agentId = await create();
  await update(agentId, { name: 'changed' });
  const removeIn = (ifVersions: number[]) => asCaller({}, () => agents.gateway.deleteAgent({ agentId, ifVersions }));
  await expect(removeIn([1])).rejects.toMatchObject({ code: 'precondition_failed' });
  expect((await get(agentId)).agent).toMatchObject({ name: 'changed', version: 2 });
  await removeIn([2]);
  await expect(get(agentId)).rejects.toMatchObject({ code: 'not_found' });
});

test('without a version all concurrent changes succeed', async () => {
  const agentId = await create();
  await Promise.all(Array.from({ length: 10 }, (_, n) => update(agentId, { name: `name ${n}` })));
  expect((await get(agentId)).agent).toMatchObject({ version: 11 });
});

test('every operation on a deleted agent answers not found at once', async () => {
  const agentId = await create();
  const talk = new StoredConversations(agents.database, { organizationId: 'org_a', environment: 'live', agentId, userId: 'usr_1' });
  const conversationId = await talk.begin(clock.now);
  const messageId = await talk.exchange(conversationId, clock.now + 10);
  await remove(agentId);
  const calls = [
    () => get(agentId),
    () => update(agentId, { name: 'x' }),
    () => remove(agentId),
    () => asCaller({}, () => agents.gateway.listConversations({ agentId })),
    () => asCaller({}, () => agents.gateway.listMessages({ agentId, conversationId })),
    () => asCaller({}, () => agents.gateway.getMessage({ agentId, messageId })),
    () => asCaller({}, () => agents.gateway.cancelAnswer({ agentId, messageId })),
  ];
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'not_found' });
});

test("every operation on another tenant's agent answers not found", async () => {
  const agentId = await create();
  for (const stranger of [{ organizationId: 'org_b' }, { environment: 'test' as const }]) {
    await expect(get(agentId, stranger)).rejects.toMatchObject({ code: 'not_found' });
    await expect(update(agentId, { name: 'mine' }, stranger)).rejects.toMatchObject({ code: 'not_found' });
    await expect(remove(agentId, stranger)).rejects.toMatchObject({ code: 'not_found' });
  }
  expect((await get(agentId, { userId: 'usr_colleague' })).agent).toMatchObject({ name: 'Sales', version: 1 });
});

test('agents checks the scope of each call too', async () => {
  const agentId = await create();
  const only = (...scopes: string[]) => ({ scopes });
  await expect(get(agentId, only('agents:write'))).rejects.toMatchObject({ code: 'insufficient_scope' });
  await expect(update(agentId, { name: 'x' }, only('agents:read', 'agents:chat'))).rejects.toMatchObject({ code: 'insufficient_scope' });
  await expect(remove(agentId, only('agents:read'))).rejects.toMatchObject({ code: 'insufficient_scope' });
  await expect(asCaller(only('agents:read'), () => agents.gateway.createAgent(body()))).rejects.toMatchObject({
    code: 'insufficient_scope',
  });
  await expect(asCaller(only('agents:chat'), () => agents.gateway.listAgents({}))).rejects.toMatchObject({ code: 'insufficient_scope' });
});

test('the same Idempotency-Key makes one agent, changes once and deletes once', async () => {
  const key = (scope: string) => ({ scope, fingerprint: 'the same body' });
  const make = () => asCaller({}, () => agents.gateway.createAgent(body({ name: 'Once' })), key('create'));
  const [first, again] = [await make(), await make()];
  expect(again).toEqual(first);
  const agentId = first.agent?.id ?? '';
  const rename = () => asCaller({}, () => agents.gateway.updateAgent({ agentId, name: 'Twice' }), key('update'));
  expect(await rename()).toEqual(await rename());
  await expect(
    asCaller({}, () => agents.gateway.updateAgent({ agentId, name: 'Thrice' }), { scope: 'update', fingerprint: 'another body' }),
  ).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  expect((await get(agentId)).agent).toMatchObject({ name: 'Twice', version: 2 });
  const remove = () => asCaller({}, () => agents.gateway.deleteAgent({ agentId }), key('delete'));
  await remove();
  await remove();
});

test('every change writes an audit entry and an event, without the prompt', async () => {
  const secret = 'a secret prompt';
  const agentId = await create({ systemPrompt: secret, category: 'hr' });
  await update(agentId, { systemPrompt: `${secret} twice`, status: 'active', name: 'People' });
  await remove(agentId);
  const [audit, events] = [await outbox('audit', agentId), await outbox('events', agentId)];
  expect(audit.map(({ action, actorId, targetId }) => [action, actorId, targetId])).toEqual(
    ['agent.created', 'agent.updated', 'agent.deleted'].map((action) => [action, 'usr_1', agentId]),
  );
  expect(JSON.parse(String(audit[1]?.['changesJson']))).toEqual({ system_prompt: '***', status: 'active', name: 'People' });
  expect(events.map(({ type }) => type)).toEqual(['agent.created', 'agent.updated', 'agent.deleted']);
  expect(events.map(({ data }) => data)).toEqual([
    {
      organization_id: 'org_a',
      source_template_id: null,
      agent: expect.objectContaining({ id: agentId, status: 'draft', category: 'hr' }),
    },
    {
      organization_id: 'org_a',
      changed_fields: expect.arrayContaining(['system_prompt', 'status', 'name']),
      agent: expect.objectContaining({ name: 'People', status: 'active' }),
    },
    { organization_id: 'org_a', agent_id: agentId, name: 'People', deleted_at: new Date(clock.now).toISOString() },
  ]);
  expect(JSON.stringify([audit, events])).not.toContain(secret);
});

test('changes that wait for a locked agent of one organization leave connections to another', async () => {
  const lockedTenant = { organizationId: 'org_locked' };
  const agentId = await createAgent(agents.gateway, {}, lockedTenant);
  const locking = await agents.database.connect();
  try {
    await locking.query('begin');
    await locking.query('select 1 from agents where id = $1 for update', [agentId]);
    // Several times as many as the service has connections.
    const waiting = Promise.allSettled(Array.from({ length: 60 }, (_, n) => update(agentId, { name: `Name ${n}` }, lockedTenant)));
    await expect(createAgent(agents.gateway, {}, { organizationId: 'org_spared' })).resolves.toMatch(/^agt_/);
    await locking.query('rollback');
    expect((await waiting).map(({ status }) => status)).toContain('fulfilled');
  } finally {
    locking.release();
  }
});
