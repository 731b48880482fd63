import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import jwt from 'jsonwebtoken';
import { Client } from 'pg';
import { type BootedService, boot } from './boot.ts';

const key = (version: number, filling = version) => `${version}:${Buffer.alloc(32, filling).toString('base64')}`;

let own: TestDatabase;
let database: Client;
let identity: BootedService | undefined;

beforeEach(async () => {
  own = await testDatabase();
  database = new Client({ connectionString: own.url, options: '-c search_path=identity' });
  await database.connect();
});

afterEach(async () => {
  await stop();
  await database.end();
  await own.drop();
});

async function stop(): Promise<void> {
  await identity?.stop();
  identity = undefined;
}

/** The service on the same database with these keys. */
async function startWith(...keys: string[]): Promise<BootedService> {
  await stop();
  identity = await boot({ DATABASE_URL: own.url, ENCRYPTION_KEYS: keys.join(','), ENCRYPTION_KEY_AHEAD_SECONDS: '0' });
  return identity;
}

const sealed = async () =>
  (await database.query<{ private_key: string }>('select private_key from signing_keys order by activates_at, kid')).rows.map((row) =>
    row.private_key.slice(0, 2),
  );
type KeyPair = Record<'publicKey' | 'privateKey', KeyObject>;

const kidOf = (token: string) => jwt.decode(token, { complete: true })?.header.kid;
const refusalOf = async (service: BootedService, token: string) =>
  (await service.gateway.authenticate({ tokens: [token] })).results[0]?.refusal;

test('signing keys are encrypted again under a rotated key, earlier ones too, and sign without the old key', async () => {
  const before = await startWith(key(1));
  const { liveApiKey } = await before.operator.createOrganization({ name: 'Acme' });
  await before.operator.rotateSigningKey({});
  const first = await before.gateway.issueToken({ apiKey: liveApiKey });
  expect(await sealed()).toEqual(['1:', '1:']);
  await startWith(key(1), key(2));
  await until('both are encrypted again', async () => (await sealed()).every((version) => version === '2:'));
  const after = await startWith(key(2));
  const second = await after.gateway.issueToken({ apiKey: liveApiKey });
  expect(kidOf(second.accessToken)).toBe(kidOf(first.accessToken));
  for (const { accessToken } of [first, second]) expect(await refusalOf(after, accessToken)).toBeUndefined();
  expect(await sealed()).toHaveLength(2);
});

test('when the signing key does not open any more, a new one takes over at once, and tokens of before stay good', async () => {
  const { operator, gateway } = await startWith(key(1));
  const { liveApiKey } = await operator.createOrganization({ name: 'Acme' });
  const tokens = [(await gateway.issueToken({ apiKey: liveApiKey })).accessToken];
  // Version 1 is not configured any more; then version 2 is another key than before.
  for (const wrong of [key(2), key(2, 9)]) {
    const service = await startWith(wrong);
    tokens.push((await service.gateway.issueToken({ apiKey: liveApiKey })).accessToken);
    for (const token of tokens) expect(await refusalOf(service, token)).toBeUndefined();
  }
  expect(new Set(tokens.map(kidOf)).size).toBe(3);
  // Another start makes no further ones.
  await startWith(key(2, 9));
  expect(await sealed()).toEqual(['1:', '2:', '2:']);
});

test('a private key is removed once its signing key verifies nothing, so that none is left that does not open', async () => {
  const { operator } = await startWith(key(1));
  await operator.rotateSigningKey({});
  const age = () => database.query(`update signing_keys set activates_at = activates_at - interval '3 days'`);
  await age();
  await database.query(`update signing_keys set activates_at = now() where kid = (select max(kid) from signing_keys)`);
  await startWith(key(2));
  expect(await sealed()).toEqual(['1:', '1:', '2:']);
  await age();
  const later = await startWith(key(2));
  expect(await sealed()).toEqual(['', '', '2:']);
  const [newest] = (await later.gateway.listSigningKeys({})).keys;
  const { signingKid } = await later.operator.revokeSigningKey({ kid: newest?.kid ?? '' });
  const last = await startWith(key(2));
  expect(await sealed()).toEqual(['', '', '', '2:']);
  expect((await last.gateway.listSigningKeys({})).keys.map(({ kid }) => kid)).toEqual([signingKid]);
});

test('a replica that cannot decrypt the newest signing key yet signs with the one before', async () => {
  const old = await startWith(key(1));
  const { liveApiKey } = await old.operator.createOrganization({ name: 'Acme' });
  const first = kidOf((await old.gateway.issueToken({ apiKey: liveApiKey })).accessToken);
  const ahead = await boot({ DATABASE_URL: own.url, ENCRYPTION_KEYS: `${key(1)},${key(2)}` });
  const { kid } = await ahead.operator.rotateSigningKey({});
  // As another replica would have sealed it that had gone on already.
  await database.query(`update signing_keys set private_key = '2:' || substr(private_key, 3) where kid = $1`, [kid]);
  const { accessToken } = await old.gateway.issueToken({ apiKey: liveApiKey });
  expect(kidOf(accessToken)).toBe(first);
  expect(await refusalOf(ahead, accessToken)).toBeUndefined();
  await ahead.stop();
});

test('a signing key that was rotated out long ago verifies nothing again when its successor is revoked', async () => {
  const { operator, gateway } = await startWith(key(1));
  const { liveApiKey } = await operator.createOrganization({ name: 'Acme' });
  const { accessToken } = await gateway.issueToken({ apiKey: liveApiKey });
  const { kid } = await operator.rotateSigningKey({});
  const age = `update signing_keys set activates_at = now() - case when kid = $1 then interval '90 days' else interval '180 days' end`;
  await database.query(age, [kid]);
  expect(await refusalOf(identity as BootedService, accessToken)).toBe('token_revoked');
  const { signingKid } = await operator.revokeSigningKey({ kid });
  expect(await refusalOf(identity as BootedService, accessToken)).toBe('token_revoked');
  expect((await gateway.listSigningKeys({})).keys.map((published) => published.kid)).toEqual([signingKid]);
  const audited = `select changes_json::jsonb as changes from audit_entries where action = 'signing_key.revoked'`;
  await until('it stands in the audit log', async () => (await database.query(audited)).rowCount === 1);
  expect((await database.query(audited)).rows).toEqual([{ changes: { signing_kid: signingKid, former_kids: [kidOf(accessToken)] } }]);
});

const rotations = async () =>
  (
    await database.query(`select target_id as kid, actor_type as actor, actor_id as id from audit_entries
      where organization_id = 'service' and action = 'signing_key.rotated' order by sequence`)
  ).rows;

test('a rotation that the service makes itself is in the audit log, but not the first key', async () => {
  await startWith(key(1));
  await database.query(`update signing_keys set created_at = now() - interval '400 days'`);
  const { gateway } = await startWith(key(1));
  const { keys } = await gateway.listSigningKeys({});
  expect(keys).toHaveLength(2);
  await until('it is in the audit log', async () => (await rotations()).length > 0);
  expect(await rotations()).toEqual([{ kid: keys[0]?.kid, actor: 'service', id: 'identity' }]);
});

test('a rotation is not made without its audit entry', async () => {
  const { operator } = await startWith(key(1));
  await database.query("alter table outbox add constraint refuses check (topic <> 'audit')");
  await expect(operator.rotateSigningKey({})).rejects.toMatchObject({ code: 'internal' });
  expect(await sealed()).toHaveLength(1);
  await database.query('alter table outbox drop constraint refuses');
  const { kid } = await operator.rotateSigningKey({});
  await until('it is in the audit log', async () => (await rotations()).length > 0);
  expect(await rotations()).toEqual([{ kid, actor: 'operator', id: 'operator' }]);
});

test('a genuine token of a key that is not published any more has been revoked or has expired, and any other token is not valid', async () => {
  const { operator, gateway } = await startWith(key(2));
  const { liveApiKey } = await operator.createOrganization({ name: 'Acme' });
  const { payload } = jwt.decode((await gateway.issueToken({ apiKey: liveApiKey })).accessToken, { complete: true }) as jwt.Jwt;
  const claims = payload as jwt.JwtPayload;
  const [genuine, stranger] = [1, 2].map(() => generateKeyPairSync('rsa', { modulusLength: 2_048 })) as [KeyPair, KeyPair];
  const { n, e } = genuine.publicKey.export({ format: 'jwk' });
  // The encryption key of its private key is lost.
  const insert = `insert into signing_keys (kid, modulus, exponent, private_key, activates_at, revoked_at) values ('former', $1, $2, '1:lost', now(), now())`;
  await database.query(insert, [n, e]);
  const signed = (change: object, { privateKey }: KeyPair = genuine, keyid = 'former') =>
    jwt.sign({ ...claims, ...change }, privateKey, { algorithm: 'RS256', keyid });
  const tokens = [
    signed({}),
    signed({ exp: (claims.iat ?? 0) - 1 }),
    signed({}, stranger),
    signed({}, genuine, 'unknown'),
    signed({ iss: 'another' }),
    signed({ scope: 1 }),
  ];
  const { results } = await gateway.authenticate({ tokens });
  expect(results.map(({ refusal }) => refusal)).toEqual([
    'token_revoked',
    'token_expired',
    'invalid_token',
    'invalid_token',
    'invalid_token',
    'invalid_token',
  ]);
});
