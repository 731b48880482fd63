import type { Principal } from '@agent-service/contracts';
import { until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client as Database } from 'pg';
import { connectToIdentity } from './audit-world.ts';
import { type BootedService, boot } from './boot.ts';

let identity: BootedService;
let database: Database;
let admin: Principal;

beforeAll(async () => {
  identity = await boot();
  database = await connectToIdentity(identity.url);
  const { liveApiKey } = await identity.operator.createOrganization({ name: 'Acme' });
  const { results } = await identity.gateway.authenticate({ tokens: [liveApiKey] });
  admin = results[0]?.principal as Principal;
});
afterAll(async () => {
  await database?.end();
  await identity?.stop();
});

const asAdmin = <T>(work: (gateway: BootedService['gateway']) => T): T => identity.as(admin, () => work(identity.gateway));

/** The changes of a target, once this many entries of them were appended. */
async function changesOf(targetId: string, count: number): Promise<[string, object][]> {
  const read = async () =>
    (
      await database.query<{ action: string; changes: object }>(
        `select action, changes_json::json as changes from identity.audit_entries
         where target_id = $1 and action not like '%.created' order by sequence`,
        [targetId],
      )
    ).rows;
  await until('the entries are appended', async () => (await read()).length >= count);
  return (await read()).map(({ action, changes }) => [action, changes]);
}

test('a change of a user lists what differs, and a request that changes nothing leaves no entry and no new time', async () => {
  const created = await asAdmin((gateway) => gateway.createUser({ name: 'Ada', email: 'ada@acme.example', role: 'member' }));
  const userId = created.user?.id ?? '';
  const update = (changes: object) => asAdmin((gateway) => gateway.updateUser({ userId, ...changes }));
  const updatedAt = async () =>
    (await database.query<{ at: string }>('select updated_at::text as at from identity.users where id = $1', [userId])).rows[0]?.at;
  const before = await updatedAt();
  expect((await update({ name: 'Ada', email: 'ada@acme.example', role: 'member', status: 'active' })).user).toEqual(created.user);
  expect((await update({})).user).toEqual(created.user);
  expect(await updatedAt()).toBe(before);
  await update({ name: 'Ada L.', email: 'ada@acme.example', role: 'member' });
  await update({ name: 'Ada L.', status: 'deactivated' });
  // A repeat waits for the gateways too: the caller of the first may not have got its answer.
  expect(await identity.pausesDuring(() => update({ status: 'deactivated' }))).toHaveLength(1);
  await update({ status: 'active', role: 'member' });
  expect(await changesOf(userId, 3)).toEqual([
    ['user.updated', { name: 'Ada L.' }],
    ['user.deactivated', { status: 'deactivated' }],
    ['user.updated', { status: 'active' }],
  ]);
});

test('a change of a key lists what differs, and a request that changes nothing leaves no entry', async () => {
  const { key } = await asAdmin((gateway) => gateway.issueKey({ name: 'Made', scopes: ['agents:read'], tokenTtlSeconds: 300 }));
  const keyId = key?.id ?? '';
  const update = (changes: object) => asAdmin((gateway) => gateway.updateKey({ keyId, ...changes }));
  expect((await update({ name: 'Made', scopes: { values: ['agents:read'] }, tokenTtlSeconds: 300 })).key).toEqual(key);
  expect((await update({})).key).toEqual(key);
  await update({ name: 'Made', scopes: { values: ['agents:read'] }, tokenTtlSeconds: 0 });
  await update({ tokenTtlSeconds: 0 });
  await update({ name: 'Renamed', scopes: { values: ['agents:read'] } });
  expect(await changesOf(keyId, 2)).toEqual([
    ['key.updated', { token_ttl_seconds: null }],
    ['key.updated', { name: 'Renamed' }],
  ]);
});

test('a change of an application lists what differs, and a request that changes nothing leaves no entry', async () => {
  const { application } = await asAdmin((gateway) =>
    gateway.issueOauthApplication({ name: 'Made', scopes: ['agents:read', 'agents:chat'] }),
  );
  const applicationId = application?.id ?? '';
  const update = (changes: object) => asAdmin((gateway) => gateway.updateOauthApplication({ applicationId, ...changes }));
  const same = { name: 'Made', scopes: { values: [...(application?.scopes ?? [])] } };
  expect((await update(same)).application).toEqual(application);
  expect((await update({})).application).toEqual(application);
  await update({ ...same, scopes: { values: ['agents:read'] } });
  expect(await changesOf(applicationId, 1)).toEqual([['oauth_client.updated', { scopes: ['agents:read'] }]]);
});
