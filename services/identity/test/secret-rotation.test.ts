import { testDatabase, until, withDatabase } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { type BootedService, boot } from './boot.ts';

const [old, next] = ['the-old-secret-of-keyed-hashes-long-enough', 'the-new-secret-of-keyed-hashes-long-enough'];
const auditKey = `1:${Buffer.alloc(32, 5).toString('base64')}`;

test('keys and client secrets stay valid while the secret of their hashes is replaced, and are stored under the new one when they are used', async () => {
  const database = await testDatabase();
  const startWith = (...secrets: string[]) =>
    boot({ DATABASE_URL: database.url, KEY_HASH_SECRET: secrets.join(','), AUDIT_KEYS: auditKey });
  const hashesOf = () =>
    withDatabase(database.url, async (client) => {
      const { rows } = await client.query<{ hash: string }>(
        'select hash from identity.api_keys union all select secret_hash from identity.oauth_clients order by hash',
      );
      return rows.map(({ hash }) => hash);
    });
  let identity = await startWith(old);
  const created = await identity.operator.createOrganization({ name: 'Rotated' });
  const client = await identity.operator.createOauthClient({ organizationId: created.organizationId, environment: 'live' });
  const use = async ({ gateway }: BootedService) => {
    const { results } = await gateway.authenticate({ tokens: [created.liveApiKey, created.testApiKey] });
    const token = await gateway.issueClientToken({ clientId: client.clientId, clientSecret: client.clientSecret, scope: '' });
    return [...results.map(({ principal }) => principal?.organizationId), token.expiresIn > 0];
  };
  const valid = [created.organizationId, created.organizationId, true];
  const before = await hashesOf();
  expect(await use(identity)).toEqual(valid);
  for (const secrets of [[old, next], [next, old], [next]]) {
    await identity.stop();
    identity = await startWith(...secrets);
    expect(await use(identity)).toEqual(valid);
    if (secrets[0] === next)
      await until('all are stored again', async () => (await hashesOf()).every((hash) => !before.includes(hash)), 15_000);
    else expect(await hashesOf()).toEqual(before);
  }
  await identity.stop();
  await database.drop();
});

test('the first key of the audit log has to be given while the secret that it comes from is replaced', async () => {
  await expect(boot({ KEY_HASH_SECRET: `${old},${next}` })).rejects.toThrow('AUDIT_KEYS: must have version 1');
});
