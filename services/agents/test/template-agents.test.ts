import { createClient, type Principal, ServiceError } from '@agent-service/contracts';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { retry } from '@agent-service/work';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { asCaller, type BootedService, body, boot } from './boot.ts';

const secret = 'a-service-secret-that-is-long-enough';
const scopes = ['templates:read', 'templates:write', 'agents:write', 'agents:read'];
const templateId = 'tpl_sales';

let agents: BootedService;
let business: TestDatabase;
/** As the service templates calls. */
let templates: BootedService['gateway'];
const clock = { now: Date.UTC(2026, 0, 15, 12) };
let organizations = 0;

beforeAll(async () => {
  const settings = { WEBHOOKS_ENABLED: 'true', WEBHOOKS_ADDRESS: '127.0.0.1:1' };
  [agents, business] = await Promise.all([boot({ now: () => clock.now, settings }), testDatabase()]);
  const client = new Client({ connectionString: business.url });
  await client.connect();
  await client.query('create table orders (id integer primary key, total numeric)');
  await client.end();
  templates = createClient('agents', { address: agents.address, as: 'templates', config: { SERVICE_SECRET: [secret] } });
});
afterAll(async () => {
  templates.close();
  await agents.stop();
  await business.drop();
});

interface Activation {
  definition?: ReturnType<typeof body>;
  name?: string;
  model?: string;
  requiredTables?: string[];
}

/** On a busy machine many calls at once may wait for a lock for longer than the service does, and are told to call again. */
const pauseAfter = (failures: number, cause: unknown) =>
  failures < 20 && ServiceError.from(cause).code === 'unavailable' ? 50 : undefined;

/** Calls of an organization of its own. */
function tenant(more: Partial<Principal> = {}) {
  const caller = { organizationId: `org_${(organizations += 1)}`, scopes, ...more };
  const as = <T>(work: () => Promise<T>) => retry(() => asCaller(caller, work), { pauseAfter });
  return {
    activate: (request: Activation = {}) => as(() => templates.activateTemplateAgent({ templateId, definition: body(), ...request })),
    deactivate: () => as(() => templates.deactivateTemplateAgent({ templateId })),
    list: async () => (await as(() => templates.listTemplateAgents({}))).agents,
    as,
    caller,
  };
}

const eventsOf = async (agentId: string) => {
  const { rows } = await agents.database.query<{ payload: { type: string; data: object } }>(
    `select payload from outbox where topic = 'events' and payload::text like '%' || $1 || '%' order by id`,
    [agentId],
  );
  return rows.map(({ payload }) => payload);
};

describe('the agent of a template', () => {
  test('is one for each tenant, also when several calls make it at once', async () => {
    const us = tenant();
    const tries = await Promise.allSettled(Array.from({ length: 25 }, () => us.activate()));
    const created = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value.agent] : []));
    expect(created).toHaveLength(1);
    const agentId = created[0]?.id;
    for (const one of tries)
      if (one.status === 'rejected')
        expect(one.reason).toMatchObject({
          code: 'template_already_activated',
          message: `The template is activated already, as the agent ${agentId} (Sales).`,
          details: { agent_id: agentId },
        });
    expect(await us.list()).toEqual([{ templateId, agentId, status: 'active' }]);
    const { rows } = await agents.database.query('select count(*)::int as count from agent_counts where organization_id = $1', [
      us.caller.organizationId,
    ]);
    expect(rows).toEqual([{ count: 1 }]);
    expect(await eventsOf(agentId ?? '')).toEqual([
      expect.objectContaining({ type: 'agent.created', data: expect.objectContaining({ source_template_id: templateId }) }),
    ]);
  });

  test('is activated again under its id after any number of concurrent activations, deactivations and deletions', async () => {
    const us = tenant();
    for (let round = 0; round < 8; round += 1) {
      const results = await Promise.allSettled(
        Array.from({ length: 12 }, async (_, index) => {
          if (index % 3 === 0) return await us.deactivate();
          const { agent } = await us.activate();
          if (index % 4 === 1) await us.as(() => agents.gateway.deleteAgent({ agentId: agent?.id ?? '' }));
          return undefined;
        }),
      );
      for (const one of results)
        if (one.status === 'rejected')
          expect(['template_already_activated', 'template_not_activated', 'not_found']).toContain((one.reason as { code: string }).code);
      expect((await us.list()).length).toBeLessThanOrEqual(1);
    }
    const { rows } = await agents.database.query<{ counted: number; there: number }>(
      `select coalesce((select sum(count) from agent_counts where organization_id = $1), 0)::int as counted,
              (select count(*) from agents where organization_id = $1)::int as there`,
      [us.caller.organizationId],
    );
    expect(rows[0]?.counted).toBe(rows[0]?.there);
  });

  test('is activated again with the overrides over its former values, and is deactivated once', async () => {
    const us = tenant();
    const first = (await us.activate({ name: 'Ours', model: 'Expert' })).agent;
    expect(first).toMatchObject({ name: 'Ours', model: 'Expert', status: 'active', sourceTemplateId: templateId, createdBy: 'usr_1' });
    clock.now += 1_000;
    expect((await us.deactivate()).agent).toMatchObject({ id: first?.id, status: 'inactive', version: 2 });
    await expect(us.deactivate()).rejects.toMatchObject({ code: 'template_not_activated' });
    const woken = (await us.activate({ model: 'Smart' })).agent;
    expect(woken).toMatchObject({ id: first?.id, name: 'Ours', model: 'Smart', status: 'active', version: 3 });
    await expect(us.activate({ model: 'Slow' })).rejects.toMatchObject({ code: 'invalid_request', param: 'model' });
  });

  test('is not any copy of the template', async () => {
    const us = tenant();
    const { agent: copy } = await us.as(() => templates.createAgent(body({ sourceTemplateId: templateId })));
    expect(copy).toMatchObject({ status: 'draft', sourceTemplateId: templateId });
    expect(await us.list()).toEqual([]);
    await expect(us.deactivate()).rejects.toMatchObject({ code: 'template_not_activated' });
    expect((await us.activate()).agent?.id).not.toBe(copy?.id);
  });
});

describe('activation beside a connected database', () => {
  const isMissing = (table: string, owner: string) => ({
    code: 'template_requirements_unmet',
    message: `The connected data source lacks what ${owner} needs: there is no table ${table}.`,
    details: { missing_tables: [table], reasons: [`there is no table ${table}`] },
  });
  const connect = ({ caller }: ReturnType<typeof tenant>) =>
    agents.operator.connectDataSource({
      organizationId: caller.organizationId,
      environment: 'live',
      url: business.url,
      allowSuperuser: true,
    });

  test('needs the tables of the catalogue for a new agent, and those of the agent where one is kept', async () => {
    const us = tenant();
    await connect(us);
    await expect(us.activate({ requiredTables: ['stock'] })).rejects.toMatchObject(isMissing('stock', 'this template'));
    const first = (await us.activate({ requiredTables: ['orders'] })).agent;
    await us.deactivate();
    expect((await us.activate({ requiredTables: ['stock'] })).agent).toMatchObject({ id: first?.id, status: 'active' });
  });

  test('is refused while tables of the kept agent are missing, also where the catalogue no longer asks for them', async () => {
    const us = tenant();
    await us.activate({ definition: body({ dataScope: { tables: ['stock'] } }), requiredTables: ['stock'] });
    await us.deactivate();
    await connect(us);
    await expect(us.activate({ requiredTables: ['orders'] })).rejects.toMatchObject(isMissing('stock', 'the agent of this template'));
  });

  test('does not need a database that can be read where the template has no tables', async () => {
    const us = tenant();
    await connect(us);
    await agents.database.query(`update data_sources set url_sealed = 'x' where organization_id = $1`, [us.caller.organizationId]);
    const { agent } = await us.activate({ definition: body({ dataScope: { tables: [] } }), requiredTables: [] });
    expect(agent).toMatchObject({ status: 'active', dataScope: { tables: [] } });
  });
});

test('only the service templates may ask, and only for a caller with the right', async () => {
  const us = tenant();
  const asGateway = () => us.as(() => agents.gateway.activateTemplateAgent({ templateId, definition: body() }));
  await expect(asGateway()).rejects.toMatchObject({ code: 'service_forbidden' });
  await expect(us.as(() => agents.gateway.listTemplateAgents({}))).rejects.toMatchObject({ code: 'service_forbidden' });
  const reader = tenant({ scopes: ['templates:read', 'agents:write'] });
  await expect(reader.activate()).rejects.toMatchObject({ code: 'insufficient_scope' });
  await expect(reader.deactivate()).rejects.toMatchObject({ code: 'insufficient_scope' });
  await expect(tenant({ scopes: ['templates:write'] }).list()).rejects.toMatchObject({ code: 'insufficient_scope' });
});
