import { type Client, createClient, type Principal } from '@agent-service/contracts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client as Database } from 'pg';
import { type BootedService, boot } from './boot.ts';

let identity: BootedService;
let agents: Client<'identity'>;
let database: Database;

beforeAll(async () => {
  identity = await boot();
  agents = createClient('identity', { address: identity.address, as: 'agents', config: identity.config });
  database = new Database({ connectionString: identity.url });
  await database.connect();
});

afterAll(async () => {
  agents.close();
  await database.end();
  await identity.stop();
});

const entry = (organizationId: string, id: string, more: object = {}) => ({
  id,
  organizationId,
  environment: 'live',
  createdAt: '2026-03-01T10:00:00.000Z',
  actor: { type: 'user', id: 'usr_a', keyId: 'key_a' },
  action: 'agent.created',
  target: { type: 'agent', id: 'agt_a' },
  outcome: 'success',
  requestId: 'r',
  changesJson: '{"name":"x"}',
  ...more,
});

const caller = (organizationId: string, environment: 'live' | 'test' = 'live'): Principal => ({
  organizationId,
  environment,
  userId: 'usr_a',
  credentialId: 'key_a',
  scopes: ['audit:read'],
  admin: false,
});

const list = (principal: Principal, request: object = {}) => identity.as(principal, () => identity.gateway.listAuditEntries(request));
const verify = (organizationId: string) => identity.operator.verifyAuditChain({ organizationId });

describe('the chain', () => {
  test('stores each entry once, whichever service sends it and however often', async () => {
    const batches = Array.from({ length: 10 }, (_, batch) =>
      Array.from({ length: 20 }, (_, index) => entry('org_once', `e${(batch * 10 + index) % 100}`)),
    );
    await Promise.all(batches.map((entries) => agents.appendAuditEntries({ entries })));
    expect(await verify('org_once')).toMatchObject({ organizations: '1', entries: '100', faults: [], nextCursor: '' });
    expect((await list(caller('org_once'))).page?.total).toBe('100');
  });

  test('entries cannot be changed or removed by the service itself', async () => {
    await agents.appendAuditEntries({ entries: [entry('org_kept', 'e1')] });
    for (const statement of ["update audit_entries set action = 'x'", 'delete from audit_entries', 'truncate audit_entries']) {
      await expect(database.query(`set search_path = identity; ${statement}`)).rejects.toThrow('append-only');
    }
  });

  test('only our own services may append entries', async () => {
    await expect(agents.appendAuditEntries({ entries: [entry('org_x', 'e1', { action: 'user.deactivated' })] })).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'action',
    });
    await expect(identity.gateway.appendAuditEntries({ entries: [entry('org_x', 'e1')] })).rejects.toMatchObject({
      code: 'service_forbidden',
    });
  });
});

describe('the list', () => {
  beforeAll(async () => {
    const added = Array.from({ length: 30 }, (_, index) =>
      entry('org_list', `l${String(index).padStart(2, '0')}`, {
        createdAt: new Date(Date.UTC(2026, 0, 1 + Math.floor(index / 3))).toISOString(),
        environment: ['live', 'test', ''][index % 3],
        action: index % 2 === 0 ? 'agent.created' : 'agent.deleted',
        target: { type: 'agent', id: `agt_${index % 5}` },
        actor: { type: 'user', id: `usr_${index % 2}`, keyId: 'key_a' },
      }),
    );
    await agents.appendAuditEntries({ entries: added });
  });

  test('shows an environment its own entries and those of the organization, newest first, each once', async () => {
    const listed: string[] = [];
    let cursor = '';
    do {
      const { entries, page } = await list(caller('org_list'), { page: { limit: 7, cursor } });
      listed.push(...entries.map(({ createdAt, id }) => `${createdAt} ${id}`));
      expect(page?.total).toBe('20');
      cursor = page?.nextCursor ?? '';
    } while (cursor);
    expect(listed).toHaveLength(20);
    expect([...listed].sort().reverse()).toEqual(listed);
    const { entries } = await list(caller('org_list', 'test'), { page: { limit: 200 } });
    expect(new Set(entries.map(({ environment }) => environment))).toEqual(new Set(['test', '']));
  });

  test('a page has at most 200 entries, also for a caller that asks for more', async () => {
    await agents.appendAuditEntries({ entries: Array.from({ length: 201 }, (_, index) => entry('org_many', `e${index}`)) });
    expect((await list(caller('org_many'), { page: { limit: 100_000 } })).entries).toHaveLength(200);
  });

  test('the total is what there is now, also on a later page', async () => {
    await agents.appendAuditEntries({ entries: [1, 2, 3].map((index) => entry('org_grows', `g${index}`)) });
    const first = await list(caller('org_grows'), { page: { limit: 2 } });
    await agents.appendAuditEntries({ entries: [entry('org_grows', 'g4', { createdAt: '2026-03-02T00:00:00.000Z' })] });
    const second = await list(caller('org_grows'), { page: { limit: 2, cursor: first.page?.nextCursor ?? '' } });
    expect([first.page?.total, second.page?.total]).toEqual(['3', '4']);
  });

  test('every filter counts exactly what it shows, alone and together', async () => {
    const filters = [
      { action: 'agent.deleted' },
      { target: 'agt_3' },
      { actor: 'usr_1' },
      { dateFrom: '2026-01-04T00:00:00.000Z', dateTo: '2026-01-06T00:00:00.000Z' },
      { action: 'agent.created', target: 'agt_2', actor: 'usr_0' },
      { action: 'nothing' },
    ];
    const { entries: all } = await list(caller('org_list'), { page: { limit: 200 } });
    for (const filter of filters) {
      const expected = all.filter(
        ({ action, target, actor, createdAt }) =>
          (!filter.action || action === filter.action) &&
          (!filter.target || target?.id === filter.target) &&
          (!filter.actor || actor?.id === filter.actor) &&
          (!filter.dateFrom || createdAt >= filter.dateFrom) &&
          (!filter.dateTo || createdAt < filter.dateTo),
      );
      const { entries, page } = await list(caller('org_list'), { ...filter, page: { limit: 200 } });
      expect(entries).toEqual(expected);
      expect(page?.total).toBe(String(expected.length));
    }
  });

  test('what identity itself does is in its log, with who did it and without secrets', async () => {
    const created = await identity.operator.createOrganization({ name: 'Audited' });
    const read = async () => (await list(caller(created.organizationId))).entries;
    while ((await read()).length < 3) await database.query('select pg_sleep(0.01)');
    const entries = await read();
    expect(entries.map(({ action }) => action).sort()).toEqual(['key.created', 'organization.created', 'user.created']);
    expect(entries.every(({ actor }) => actor?.type === 'operator')).toBe(true);
    expect(JSON.stringify(entries)).not.toContain(created.liveApiKey);
    expect((await verify(created.organizationId)).faults).toEqual([]);
  });
});
