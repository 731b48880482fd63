import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Principal, withCall } from '@agent-service/contracts';
import { clientOf, type LocalSystem } from '@agent-service/local/system/system';
import { machineEnvironment, mainFileOf, send, testFolder, testSystem, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';

const columns = Array.from({ length: 100 }, (_, index) => `column_number_${index}`).join(', ');
const tables = Array.from({ length: 195 }, (_, index) => `public.wide_table_${index}(${columns})`);
const agentsMade = 25;

let system: LocalSystem;
let database: Client;
beforeAll(async () => {
  system = await testSystem({ RATE_LIMIT_READS_PER_MINUTE: '100000' });
  database = new Client({ connectionString: system.endpoints['postgres'] ?? '' });
  await database.connect();
}, 120_000);
afterAll(async () => {
  await database?.end();
  await system?.stop();
});

const signal = (name: string, kind: NodeJS.Signals) => system.processes.get(name)?.kill(kind);

interface Entry {
  id: string;
  action: string;
  target: { id: string };
  changes: Record<string, object>;
}

async function entriesOf(key: string, action: string): Promise<Entry[]> {
  const path = `/v1/audit?limit=100&action=${action}`;
  return (await send(system.url, { method: 'GET', path, headers: { authorization: `Bearer ${key}` } })).json<{ data: Entry[] }>().data;
}

/** The operator's command line, as `npm run admin` starts it. */
async function admin<Result>(...words: string[]): Promise<Result> {
  const main = mainFileOf('admin', 'packages/cli/src/main.ts');
  const env = { ...machineEnvironment, DATA_DIR: system.dataDir };
  return JSON.parse((await promisify(execFile)(process.execPath, [main, ...words, '--json'], { env })).stdout) as Result;
}

/** Writes outbox messages of earlier versions: large ones, and one that identity refuses. */
async function leaveOldEntries(organizationId: string): Promise<void> {
  const changes = JSON.stringify({ 'data_scope.tables': tables });
  const insert = `insert into agents.outbox (id, topic, payload)
    select id || $1, topic, payload || jsonb_build_object('id', id || $1) || $2::jsonb from agents.outbox
    where topic = 'audit' and payload ->> 'organizationId' = $3 and id not like '%-%' order by id limit $4`;
  await database.query(insert, ['-old', JSON.stringify({ changesJson: changes, action: 'agent.imported' }), organizationId, agentsMade]);
  await database.query(insert, ['-poison', JSON.stringify({ createdAt: 'never' }), organizationId, 1]);
}

test('25 agents with wide scopes are created while identity is unavailable: every entry arrives afterwards, and a refused message becomes a dead letter', async () => {
  const operator = clientOf(system, 'identity', 'operator');
  const organization = await operator.createOrganization({ name: 'Wide' });
  operator.close();
  const caller: Principal = {
    organizationId: organization.organizationId,
    environment: 'live',
    userId: organization.userId,
    credentialId: 'key_a',
    scopes: ['agents:write'],
    admin: true,
  };
  signal('identity', 'SIGSTOP');
  const agents = clientOf(system, 'agents', 'gateway');
  const request = { systemPrompt: 'Answer.', dataScope: { tables, readOnly: true } };
  const ids: string[] = [];
  for (let index = 0; index < agentsMade; index += 1) {
    const context = { requestId: `wide-${index}`, principal: caller, expiresAt: performance.now() + 20_000 };
    const { agent } = await withCall(context, () => agents.createAgent({ ...request, name: `Wide ${index}` }));
    ids.push(agent?.id ?? '');
  }
  agents.close();
  await leaveOldEntries(organization.organizationId);
  signal('identity', 'SIGCONT');

  await until('every entry', async () => (await entriesOf(organization.liveApiKey, 'agent.imported')).length === agentsMade);
  const created = await entriesOf(organization.liveApiKey, 'agent.created');
  expect(created.map(({ target }) => target.id).sort()).toEqual(ids.sort());
  const cut = { truncated: true, items: 195, bytes: JSON.stringify(tables).length, shown: tables.slice(0, 4) };
  for (const entry of [...created, ...(await entriesOf(organization.liveApiKey, 'agent.imported'))])
    expect(entry.changes['data_scope.tables']).toMatchObject({ ...cut, shown: expect.arrayContaining(cut.shown) });

  type Listed = { dead_letters: { service: string; id: string; reason: string; organization_id: string }[] };
  let listed: Listed = { dead_letters: [] };
  await until('the dead letter', async () => {
    listed = await admin<Listed>('outbox', 'list');
    return listed.dead_letters.length > 0;
  });
  const [letter] = listed.dead_letters;
  expect(listed.dead_letters).toMatchObject([
    {
      service: 'agents',
      topic: 'audit',
      organization_id: organization.organizationId,
      reason: 'invalid_request: created_at must be a time.',
      attempts: 4,
    },
  ]);
  expect(await admin('outbox', 'retry', '--service', 'agents', '--id', letter?.id ?? '')).toEqual({ service: 'agents', retried: 1 });
  expect(await admin('audit', 'verify', '--organization', organization.organizationId)).toMatchObject({
    faults: [],
    append_only_role: true,
  });
}, 180_000);

test('exported anchors detect a log that was truncated and given its earlier signed head', async () => {
  const operator = clientOf(system, 'identity', 'operator');
  const { organizationId } = await operator.createOrganization({ name: 'Anchored' });
  operator.close();
  const chain = async () =>
    (await database.query('select * from identity.audit_chains where organization_id = $1', [organizationId])).rows[0] as
      | { length: string; head: string; mac: string }
      | undefined;
  await until('the first entries', async () => Number((await chain())?.length) === 4);
  const earlier = await chain();
  await admin('user', 'create', '--organization', organizationId, '--email', 'a@anchored.example', '--role', 'member');
  await until('the entry of the new user', async () => Number((await chain())?.length) === 5);
  const file = join(await testFolder(), 'anchors.json');
  expect(await admin('audit', 'anchor', '--organization', 'all', '--out', file)).toMatchObject({ file, faults: [] });
  const proof = ['audit', 'verify', '--organization', organizationId, '--anchors', file];
  expect(await admin(...proof)).toMatchObject({ organizations: 1, entries: 5, anchors: 1, append_only_role: true, faults: [] });
  await expect(admin('audit', 'anchor', '--organization', 'all', '--out', file)).rejects.toThrow('EEXIST');

  await database.query('alter table identity.audit_entries disable trigger all');
  await database.query('delete from identity.audit_entries where organization_id = $1 and sequence = 5', [organizationId]);
  await database.query('alter table identity.audit_entries enable trigger all');
  await database.query('update identity.audit_chains set length = $2, head = $3, mac = $4 where organization_id = $1', [
    organizationId,
    earlier?.length,
    earlier?.head,
    earlier?.mac,
  ]);
  expect(await admin('audit', 'verify', '--organization', organizationId)).toMatchObject({ entries: 4, faults: [] });
  const failed = (await admin(...proof).catch((cause: unknown) => cause)) as { code: number; stdout: string };
  expect(failed.code).toBe(2);
  expect(JSON.parse(failed.stdout).faults).toEqual([
    { organization_id: organizationId, sequence: 5, reason: 'the entry of the anchor is missing' },
  ]);
}, 120_000);
