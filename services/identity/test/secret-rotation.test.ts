import type { Principal } from '@agent-service/contracts';
import { testDatabase, until, withDatabase } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { createKeyedHash } from '../src/domain/secrets.ts';
import { type BootedService, boot } from './boot.ts';
import { password, portalWorld } from './portal-world.ts';

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
  const { organizationId, userId } = created;
  const client = await identity.operator.createOauthClient({ organizationId, environment: 'live' });
  // Official clients authenticate with tokens alone.
  const keyForTokens = await identity.operator.createKey({ organizationId, userId, environment: 'live', scopes: [], admin: false });
  const use = async ({ gateway }: BootedService) => {
    const { results } = await gateway.authenticate({ tokens: [created.liveApiKey, created.testApiKey] });
    const tokens = [
      await gateway.issueClientToken({ clientId: client.clientId, clientSecret: client.clientSecret, scope: '' }),
      await gateway.issueToken({ apiKey: keyForTokens.apiKey }),
    ];
    return [...results.map(({ principal }) => principal?.organizationId), ...tokens.map(({ expiresIn }) => expiresIn > 0)];
  };
  const valid = [organizationId, organizationId, true, true];
  const before = await hashesOf();
  expect(await use(identity)).toEqual(valid);
  for (const secrets of [[old, next], [next, old], [next]]) {
    await identity.stop();
    identity = await startWith(...secrets);
    expect(await use(identity)).toEqual(valid);
    if (secrets[0] === next) await until('all are stored again', async () => (await hashesOf()).every((hash) => !before.includes(hash)));
    else expect(await hashesOf()).toEqual(before);
  }
  await identity.stop();
  await database.drop();
});

test('a client secret that was replaced is refused once its time is over', async () => {
  const identity = await boot();
  const { organizationId, liveApiKey } = await identity.operator.createOrganization({ name: 'Replaced' });
  const { results } = await identity.gateway.authenticate({ tokens: [liveApiKey] });
  const { clientId, clientSecret } = await identity.operator.createOauthClient({ organizationId, environment: 'live' });
  const rotation = { applicationId: clientId, previousValidSeconds: 3_600 };
  await identity.as(results[0]?.principal as Principal, () => identity.gateway.rotateOauthSecret(rotation));
  const issue = () => identity.gateway.issueClientToken({ clientId, clientSecret, scope: '' });
  expect((await issue()).expiresIn).toBeGreaterThan(0);
  await withDatabase(identity.url, async (client) => {
    await client.query('set search_path to identity');
    await client.query('update oauth_clients set previous_secret_until = clock_timestamp() where id = $1', [clientId]);
  });
  await expect(issue()).rejects.toMatchObject({ code: 'invalid_client' });
  await identity.stop();
});

test('a recovery code is accepted until the secret that its hash was made with is dropped', async () => {
  const database = await testDatabase();
  const codes = ['AAAABBBBCCCCDDDD', 'AAAABBBBCCCCEEEE', 'AAAABBBBCCCCFFFF'];
  const takeWith = async (secrets: readonly string[], code: string) => {
    const world = await portalWorld({ DATABASE_URL: database.url, KEY_HASH_SECRET: secrets.join(','), AUDIT_KEYS: auditKey });
    const outcome = await world.signIn('admin@recovery.example', { code }).then(
      () => 'ok',
      (cause: { code: string }) => cause.code,
    );
    await world.stop();
    return outcome;
  };
  const first = await portalWorld({ DATABASE_URL: database.url, KEY_HASH_SECRET: old, AUDIT_KEYS: auditKey });
  const { email, userId } = await first.makeOrganization('admin@recovery.example');
  const sessionToken = await first.signIn(email);
  await first.portal.beginTwoFactor({ sessionToken, password });
  const hashes = codes.map((code) => createKeyedHash([old])(`recovery\n${userId}\n${code}`));
  await withDatabase(database.url, (client) =>
    client.query('update identity.two_factors set confirmed_at = now(), recovery_hashes = $1', [hashes]),
  );
  await first.stop();
  expect(await takeWith([old, next], codes[0] ?? '')).toBe('ok');
  expect(await takeWith([next, old], codes[1] ?? '')).toBe('ok');
  expect(await takeWith([next, old], codes[1] ?? '')).toBe('code_required');
  await database.drop();
});

test('the first key of the audit log has to be given while the secret that it comes from is replaced', async () => {
  await expect(boot({ KEY_HASH_SECRET: `${old},${next}` })).rejects.toThrow('AUDIT_KEYS: must have version 1');
});

test('identity does not start with another key of the audit log, which its entries would break', async () => {
  const database = await testDatabase();
  const otherKey = `1:${Buffer.alloc(32, 6).toString('base64')}`;
  const startWith = (settings: { KEY_HASH_SECRET: string; AUDIT_KEYS?: string }) => boot({ DATABASE_URL: database.url, ...settings });
  const first = await startWith({ KEY_HASH_SECRET: old });
  const { organizationId } = await first.operator.createOrganization({ name: 'Restored' });
  const entriesOf = async ({ operator }: BootedService) => Number((await operator.verifyAuditChain({ organizationId })).entries);
  await until('its creation is in the log', async () => (await entriesOf(first)) > 0);
  await first.stop();

  await expect(startWith({ KEY_HASH_SECRET: next })).rejects.toThrow('KEY_HASH_SECRET: not the one that the audit log was signed with');
  await expect(startWith({ KEY_HASH_SECRET: old, AUDIT_KEYS: otherKey })).rejects.toThrow('AUDIT_KEYS: not the one');
  const again = await startWith({ KEY_HASH_SECRET: old });
  expect(await again.operator.verifyAuditChain({ organizationId })).toMatchObject({ faults: [] });
  await again.stop();

  const withLaterKey = await startWith({ KEY_HASH_SECRET: next, AUDIT_KEYS: otherKey.replace('1:', '2:') });
  await withLaterKey.stop();
  await database.drop();
});
