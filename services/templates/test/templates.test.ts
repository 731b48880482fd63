import { randomUUID } from 'node:crypto';
import { type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { operatorsTemplate, writeTemplate } from './support/template-file.ts';
import { dataIn, errorIn, type Organization, type OwnWorld, startWorld } from './support/world.ts';

interface Template {
  id: string;
  name: string;
  description: string;
  category: string;
  version: string;
  model: string;
  status: string;
  credit_cost_estimate: string;
  required_permissions: string[];
  suggested_prompts: string[];
  changelog: { version: string; date: string; changes: string }[];
}
interface Agent {
  id: string;
  name: string;
  description: string;
  model: string;
  status: string;
  system_prompt: string;
  category: string;
  data_scope: { tables: string[]; read_only: boolean };
  welcome_message: string;
  suggested_prompts: string[];
  source_template_id: string | null;
}
interface Activation {
  template_id: string;
  agent_id: string;
  name: string;
  status: string;
  activated_at: string;
}

const sales = 'tpl_sales_performance';
let world: OwnWorld;
let elsewhere: TestDatabase;
beforeAll(async () => {
  elsewhere = await testDatabase();
  world = await startWorld((folder) => writeTemplate(folder, operatorsTemplate()));
}, 120_000);
afterAll(async () => {
  await world.stop();
  await elsewhere.drop();
});

const of = (key: string) => ({
  list: async (query = '') => (await world.call(key, 'GET', `/v1/templates?limit=100${query}`)).json<{ data: Template[]; meta: Meta }>(),
  get: async (id = sales) => dataIn<Template>(await world.call(key, 'GET', `/v1/templates/${id}`)),
  act: (act: string, body?: object, id = sales, headers = {}) =>
    world.call(key, 'POST', `/v1/templates/${id}/${act}`, { ...(body && { body }), headers }),
  activate: async (body?: object, id = sales) => dataIn<Activation>(await of(key).act('activate', body, id)),
  agent: async (id: string) => dataIn<Agent>(await world.call(key, 'GET', `/v1/agents/${id}`)),
  patch: (id: string, body: object) => world.call(key, 'PATCH', `/v1/agents/${id}`, { body }),
});
interface Meta {
  total: number;
  next_cursor: string | null;
}

const fresh = async (): Promise<Organization & ReturnType<typeof of>> => {
  const created = await world.makeOrganization();
  return { ...created, ...of(created.keys.live) };
};

describe('activation', () => {
  test('creates an active agent from the template, once', async () => {
    const us = await fresh();
    const answer = await us.act('activate');
    expect(answer.status).toBe(201);
    const created = dataIn<Activation>(answer);
    const template = await us.get();
    expect(created).toEqual({
      template_id: sales,
      agent_id: expect.stringMatching(/^agt_/),
      name: template.name,
      status: 'active',
      activated_at: expect.any(String),
    });
    expect(template.status).toBe('activated');
    expect(await us.agent(created.agent_id)).toMatchObject({
      name: template.name,
      description: template.description,
      category: 'sales',
      model: template.model,
      status: 'active',
      suggested_prompts: template.suggested_prompts,
      source_template_id: sales,
      data_scope: { tables: ['orders', 'customers'], read_only: true },
    });
    const again = await us.act('activate', { name_override: 'Another' });
    expect([again.status, errorIn(again).code]).toEqual([409, 'template_already_activated']);
    expect(errorIn(again).details).toEqual({ agent_id: created.agent_id });
  });

  test('applies the overrides; invalid ones change nothing', async () => {
    const us = await fresh();
    for (const body of [{ name_override: '' }, { name_override: 'x'.repeat(101) }, { model_override: 'Slow' }, { name: 'x' }]) {
      expect([body, (await us.act('activate', body)).status]).toEqual([body, 400]);
    }
    expect((await us.get()).status).toBe('available');
    const created = await us.activate({ name_override: 'Umsätze', model_override: 'Expert' });
    expect(created.name).toBe('Umsätze');
    expect(await us.agent(created.agent_id)).toMatchObject({ name: 'Umsätze', model: 'Expert' });
  });

  test('ten at once create one agent and nine conflicts with its id', async () => {
    const us = await fresh();
    const answers = await Promise.all(Array.from({ length: 10 }, () => us.act('activate')));
    const created = answers.filter(({ status }) => status === 201);
    expect(created).toHaveLength(1);
    const agentId = dataIn<Activation>(created[0] as never).agent_id;
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect([answer.status, errorIn(answer).code, errorIn(answer).details]).toEqual([
        409,
        'template_already_activated',
        { agent_id: agentId },
      ]);
    }
    const { data, meta } = (await world.call(us.keys.live, 'GET', '/v1/agents')).json<{ data: Agent[]; meta: Meta }>();
    expect([data.map(({ id }) => id), meta.total]).toEqual([[agentId], 1]);
  });

  test('activates the existing agent again, with its changes and the overrides applied', async () => {
    const us = await fresh();
    const { agent_id: agentId } = await us.activate();
    await us.patch(agentId, { description: 'Ours now', name: 'Ours' });
    const deactivated = await us.act('deactivate');
    expect(deactivated.status).toBe(200);
    expect(dataIn(deactivated)).toEqual({
      template_id: sales,
      agent_id: agentId,
      status: 'inactive',
      deactivated_at: expect.any(String),
    });
    expect([(await us.get()).status, (await us.agent(agentId)).status]).toEqual(['available', 'inactive']);
    const twice = await us.act('deactivate');
    expect([twice.status, errorIn(twice).code]).toEqual([409, 'template_not_activated']);
    const woken = await us.act('activate', { model_override: 'Premium' });
    expect(woken.status).toBe(201);
    expect(dataIn(woken)).toMatchObject({ agent_id: agentId, name: 'Ours', status: 'active' });
    expect(await us.agent(agentId)).toMatchObject({ description: 'Ours now', model: 'Premium', status: 'active' });
  });

  test('ten at once activate the existing agent once', async () => {
    const us = await fresh();
    const { agent_id: agentId } = await us.activate();
    await us.act('deactivate');
    const answers = await Promise.all(Array.from({ length: 10 }, () => us.act('activate')));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
    expect(dataIn(answers.find(({ status }) => status === 201) as never)).toMatchObject({ agent_id: agentId });
  });

  test('the status of a template is that of its agent', async () => {
    const us = await fresh();
    const { agent_id: first } = await us.activate();
    await us.patch(first, { status: 'inactive' });
    expect((await us.get()).status).toBe('available');
    expect(errorIn(await us.act('deactivate')).code).toBe('template_not_activated');
    await us.patch(first, { status: 'active' });
    expect((await us.get()).status).toBe('activated');
    await world.call(us.keys.live, 'DELETE', `/v1/agents/${first}`);
    expect((await us.get()).status).toBe('available');
    const { agent_id: second } = await us.activate();
    expect(second).not.toBe(first);
  });

  test('is separate for each tenant', async () => {
    const [us, they] = [await fresh(), await fresh()];
    await us.activate();
    expect((await they.get()).status).toBe('available');
    expect((await of(us.keys.test).get()).status).toBe('available');
    expect((await they.list('&status=activated')).meta.total).toBe(0);
    expect(errorIn(await they.act('deactivate')).code).toBe('template_not_activated');
    expect((await us.get()).status).toBe('activated');
  });
});

describe('the same Idempotency-Key', () => {
  test('activates, deactivates and duplicates once', async () => {
    const us = await fresh();
    for (const [act, body] of [['activate', {}], ['deactivate'], ['duplicate', { name: 'Copy' }]] as const) {
      const headers = { 'idempotency-key': randomUUID() };
      const [first, again] = [await us.act(act, body, sales, headers), await us.act(act, body, sales, headers)];
      expect([act, first.status < 300, again.status]).toEqual([act, true, first.status]);
      expect(dataIn(again)).toEqual(dataIn(first));
      expect([first.headers['idempotent-replayed'], again.headers['idempotent-replayed']]).toEqual([undefined, 'true']);
    }
    const { meta } = (await world.call(us.keys.live, 'GET', '/v1/agents')).json<{ meta: Meta }>();
    expect(meta.total).toBe(2);
  });

  test('with another body is refused, and a refusal is not stored', async () => {
    const us = await fresh();
    const headers = { 'idempotency-key': randomUUID() };
    expect(errorIn(await us.act('deactivate', undefined, sales, headers)).code).toBe('template_not_activated');
    await us.activate();
    expect((await us.act('deactivate', undefined, sales, headers)).status).toBe(200);
    const key = { 'idempotency-key': randomUUID() };
    await us.act('activate', { name_override: 'One' }, sales, key);
    const other = await us.act('activate', { name_override: 'Other' }, sales, key);
    expect([other.status, errorIn(other).code]).toEqual([422, 'idempotency_key_reused']);
  });
});

describe('a duplicate', () => {
  test('is a draft that does not depend on the template', async () => {
    const us = await fresh();
    const answer = await us.act('duplicate', { name: 'Mine' });
    expect(answer.status).toBe(201);
    const created = dataIn<Agent>(answer);
    const template = await us.get();
    expect(created).toEqual({
      id: expect.stringMatching(/^agt_/),
      name: 'Mine',
      description: template.description,
      status: 'draft',
      source_template_id: sales,
      created_at: expect.any(String),
    });
    expect(template.status).toBe('available');
    await us.patch(created.id, { status: 'active' });
    expect((await us.get()).status).toBe('available');
    const { agent_id: activated } = await us.activate();
    await us.act('deactivate');
    expect([(await us.agent(created.id)).status, (await us.agent(activated)).status]).toEqual(['active', 'inactive']);
    expect(dataIn(await us.act('duplicate', { name: 'Mine', description: '' }))).toMatchObject({ name: 'Mine', description: '' });
    expect((await us.act('duplicate', {})).status).toBe(400);
  });
});

describe('what a template requires', () => {
  test('are tables of the connected data source: those that are missing are listed', async () => {
    const us = await fresh();
    const client = new Client({ connectionString: elsewhere.url });
    await client.connect();
    await client.query('create table orders (id int primary key, total numeric); create table products (id int, sku text, name text)');
    await world
      .operator('agents')
      .connectDataSource({ organizationId: us.id, environment: 'live', url: elsewhere.url, allowSuperuser: true });
    const refused = await us.act('activate');
    expect([refused.status, errorIn(refused).code]).toEqual([409, 'template_requirements_unmet']);
    expect(errorIn(refused).details).toEqual({ missing_tables: ['customers'], reasons: ['there is no table customers'] });
    expect((await us.get()).status).toBe('available');
    const columns = await us.act('activate', undefined, 'tpl_stock_levels');
    expect(errorIn(columns).details).toEqual({
      missing_tables: ['inventory', 'products'],
      reasons: ['there is no table inventory', 'the table products has no column category, discontinued'],
    });
    expect((await us.act('duplicate', { name: 'To be fitted' })).status).toBe(201);
    await client.query('create table customers (id int primary key, name text)');
    await client.end();
    await until('who has added the table is believed', async () => (await us.act('activate')).status === 201);
  });

  test('are permissions of the caller who activates it', async () => {
    const us = await fresh();
    const { required_permissions: required } = await us.get('tpl_compensation');
    expect(required).toEqual(['templates:write', 'users:read']);
    const short = await of(await world.makeKey(us, ['templates:write'])).act('activate', undefined, 'tpl_compensation');
    expect([short.status, errorIn(short).code]).toEqual([403, 'insufficient_scope']);
    expect(errorIn(short).details).toEqual({ required, granted: ['templates:write'] });
    expect(short.headers['www-authenticate']).toContain('scope="templates:write users:read"');
    const enough = await of(await world.makeKey(us, required)).act('activate', undefined, 'tpl_compensation');
    expect(enough.status).toBe(201);
  });

  test('an unknown template is a 404 for every method', async () => {
    const us = await fresh();
    for (const [act, body] of [['activate'], ['deactivate'], ['duplicate', { name: 'x' }]] as const) {
      const answer = await us.act(act, body, 'tpl_none');
      expect([act, answer.status, errorIn(answer).code]).toEqual([act, 404, 'not_found']);
    }
    expect((await world.call(us.keys.live, 'GET', '/v1/templates/tpl_none')).status).toBe(404);
  });
});

describe('the list', () => {
  test('is sorted by category and name, and its pages together are complete', async () => {
    const us = await fresh();
    const { data, meta } = await us.list();
    expect(meta).toMatchObject({ total: data.length, next_cursor: null });
    const sortKeys = data.map(({ category, name, id }) => [category, name, id]);
    expect(sortKeys).toEqual(sortKeys.toSorted((a, b) => (a.join('\0') < b.join('\0') ? -1 : 1)));
    const paged: Template[] = [];
    for (let cursor = ''; ; ) {
      const path = `/v1/templates?limit=4${cursor && `&cursor=${cursor}`}`;
      const page = (await world.call(us.keys.live, 'GET', path)).json<{ data: Template[]; meta: Meta }>();
      expect(page.meta.total).toBe(data.length);
      paged.push(...page.data);
      if (page.meta.next_cursor === null) break;
      cursor = page.meta.next_cursor;
    }
    expect(paged).toEqual(data);
  });

  test('filters by category, status and search, with the total under the same filters', async () => {
    const us = await fresh();
    await us.activate();
    await us.activate({}, 'tpl_leave_management');
    const ids = async (query: string) => {
      const { data, meta } = await us.list(query);
      expect(meta.total).toBe(data.length);
      return data.map(({ id }) => id);
    };
    expect(await ids('&status=activated')).toEqual(['tpl_leave_management', sales]);
    expect(await ids('&status=activated&category=sales')).toEqual([sales]);
    expect(await ids('&status=available&category=sales')).not.toContain(sales);
    expect(await ids('&search=LEAVE%20req')).toEqual(['tpl_leave_management']);
    expect(await ids('&search=100%25')).toEqual([]);
    const all = await us.list();
    expect((await us.list('&search=')).data).toEqual(all.data);
  });

  test('refuses unknown values, and cursors of other lists', async () => {
    const [us, they] = [await fresh(), await fresh()];
    for (const query of ['category=legal', 'status=active', 'limit=0', 'limit=101', 'x=1', 'cursor=abc', 'cursor='])
      expect([query, (await world.call(us.keys.live, 'GET', `/v1/templates?${query}`)).status]).toEqual([query, 400]);
    const { meta } = (await world.call(us.keys.live, 'GET', '/v1/templates?limit=2')).json<{ meta: Meta }>();
    const use = (key: string, more: string) => world.call(key, 'GET', `/v1/templates?limit=2&cursor=${meta.next_cursor}${more}`);
    expect((await use(us.keys.live, '')).status).toBe(200);
    for (const answer of [await use(us.keys.live, '&category=sales'), await use(they.keys.live, ''), await use(us.keys.test, '')])
      expect([answer.status, errorIn(answer).code]).toEqual([400, 'invalid_cursor']);
  });
});

test('every effect is in the audit log with its user', async () => {
  const us = await fresh();
  const { agent_id: agentId } = await us.activate();
  await us.act('deactivate');
  await us.act('activate');
  const copy = dataIn<Agent>(await us.act('duplicate', { name: 'Copy' }));
  interface Entry {
    action: string;
    actor: { type: string; id: string };
    target: { type: string; id: string };
    changes: Record<string, unknown>;
  }
  const entries = async () => dataIn<Entry[]>(await world.call(us.keys.live, 'GET', `/v1/audit?limit=100&target=${sales}`));
  await until('the audit log has all entries', async () => (await entries()).length === 4);
  const listed = (await entries()).toReversed();
  expect(listed.map(({ action, actor, changes }) => [action, actor.type, actor.id, changes['agent_id']])).toEqual([
    ['template.activated', 'user', us.userId, agentId],
    ['template.deactivated', 'user', us.userId, agentId],
    ['template.activated', 'user', us.userId, agentId],
    ['template.duplicated', 'user', us.userId, copy.id],
  ]);
});

test('a new version in the catalogue does not change existing agents', async () => {
  const us = await fresh();
  const own = 'tpl_operators_own';
  expect(await us.get(own)).toMatchObject({ version: '1.0.0', category: 'finance', credit_cost_estimate: '1-4 credits per query' });
  const { agent_id: agentId } = await us.activate({}, own);
  const before = await us.agent(agentId);
  await writeTemplate(
    world.templatesFolder,
    operatorsTemplate({
      version: '1.1.0',
      name: 'The operator’s newer own',
      model: 'Smart',
      system_prompt: 'Answer as the second version does.',
      changelog: [
        { version: '1.1.0', date: '2026-02-01', changes: 'Second version.' },
        { version: '1.0.0', date: '2026-01-01', changes: 'First version.' },
      ],
    }),
  );
  world.system.processes.get('templates')?.kill('SIGKILL');
  await until('the new version is there', async () => (await us.get(own)).version === '1.1.0');
  expect((await us.get(own)).changelog.map(({ version }) => version)).toEqual(['1.1.0', '1.0.0']);
  expect((await us.get(own)).status).toBe('activated');
  expect(await us.agent(agentId)).toEqual(before);
  await us.act('deactivate', undefined, own);
  await us.activate({}, own);
  expect(await us.agent(agentId)).toMatchObject({ name: before.name, model: 'Fast', system_prompt: before.system_prompt });
  const they = await fresh();
  expect(await they.agent((await they.activate({}, own)).agent_id)).toMatchObject({ name: 'The operator’s newer own', model: 'Smart' });
});
