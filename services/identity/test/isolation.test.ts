import { randomUUID } from 'node:crypto';
import { createClient, type Principal } from '@agent-service/contracts';
import { countLockWaits, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client as Database } from 'pg';
import { connectToIdentity } from './audit-world.ts';
import { type BootedService, boot } from './boot.ts';
import { password, undisturbed } from './portal-world.ts';

// One organization asks for too much, and the other authenticates, gets tokens and reads at the same time.
let identity: BootedService;
let database: Database;
/** A transaction sees the activity of the moment at which it first asked. */
let observer: Database;
let busy: Organization;
let honest: Organization;

interface Organization {
  organizationId: string;
  userId: string;
  liveApiKey: string;
  principal: Principal;
}

beforeAll(async () => {
  identity = await boot();
  [database, observer] = await Promise.all([connectToIdentity(identity.url), connectToIdentity(identity.url)]);
  [busy, honest] = await Promise.all([createOrganization('Busy'), createOrganization('Honest')]);
});

afterAll(async () => {
  await Promise.all([database.end(), observer.end()]);
  await identity.stop();
});

async function createOrganization(name: string): Promise<Organization> {
  const organization = await identity.operator.createOrganization({ name });
  const { results } = await identity.gateway.authenticate({ tokens: [organization.liveApiKey] });
  return { ...organization, principal: results[0]?.principal as Principal };
}

const refusalsOf = async (...tokens: string[]) =>
  (await identity.gateway.authenticate({ tokens })).results.map(({ refusal }) => refusal ?? 'none');
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (cause: { code?: string }) => cause.code ?? String(cause),
  );

test('an organization that requests 120 tokens at once delays only itself', async () => {
  let issued = 0;
  const flood = Array.from({ length: 120 }, async () => {
    const code = await codeOf(identity.gateway.issueToken({ apiKey: busy.liveApiKey }));
    if (code === 'none') issued += 1;
    return code;
  });
  await until('the first token is issued', async () => issued > 0);
  const { accessToken } = await identity.gateway.issueToken({ apiKey: honest.liveApiKey });
  expect(await refusalsOf(accessToken, honest.liveApiKey)).toEqual(['none', 'none']);
  // It overtook most of the tokens that were requested before it.
  expect(issued).toBeLessThan(80);
  const outcomes = Map.groupBy(await Promise.all(flood), (code) => code);
  // Which calls the client itself holds back depends on the machine.
  expect(['none', 'rate_limited', 'unavailable', 'deadline_exceeded']).toEqual(expect.arrayContaining([...outcomes.keys()]));
  expect(await codeOf(identity.gateway.issueToken({ apiKey: busy.liveApiKey }))).toBe('none');
});

test('filtered reads of a long audit log hold two connections at most, and one for an organization', async () => {
  const filtered = ({ principal }: Organization) =>
    codeOf(identity.as({ ...principal, scopes: ['audit:read'] }, () => identity.gateway.listAuditEntries({ action: 'agent.created' })));
  const waiting = () => countLockWaits(identity.url, 'from audit_entries%action = $');
  const reads: Promise<string>[] = [];
  await database.query('begin');
  try {
    // The lock stands for statements that take long.
    await database.query('lock table audit_entries in access exclusive mode');
    reads.push(...Array.from({ length: 40 }, () => filtered(busy)));
    await until('the first of them waits', async () => (await waiting()) === 1);
    reads.push(filtered(honest));
    await until('the other organization has a connection as well', async () => (await waiting()) === 2);
    for (let round = 0; round < 5; round += 1) expect(await refusalsOf(honest.liveApiKey)).toEqual(['none']);
    expect(await waiting()).toBeLessThanOrEqual(2);
  } finally {
    await database.query('rollback');
  }
  const codes = await Promise.all(reads);
  expect(codes.filter((code) => code === 'rate_limited').length).toBeGreaterThanOrEqual(19);
  expect(codes.at(-1)).not.toBe('rate_limited');
  expect(await filtered(busy)).toBe('none');
});

/** Lists the entry of an organization's creation. */
const readCreated = ({ principal }: Organization, options = {}) =>
  identity.as({ ...principal, scopes: ['audit:read'] }, () =>
    identity.gateway.listAuditEntries({ action: 'organization.created' }, options),
  );

/** Does the work while each statement that reads these entries of creations takes so long. */
async function whileSlow(organizations: readonly Organization[], seconds: number, work: () => Promise<void>): Promise<void> {
  for (const organization of [...organizations, honest])
    await until('its entry is in the audit log', async () => (await readCreated(organization)).page?.total === '1');
  const ids = organizations.map(({ organizationId }) => `'${organizationId}'`).join();
  await database.query(
    `alter table audit_entries rename to stored_entries;
     create view audit_entries as select * from stored_entries where case
       when organization_id in (${ids}) and action = 'organization.created' then pg_sleep(${seconds}) is not null else true end`,
  );
  try {
    await work();
  } finally {
    await database.query('drop view audit_entries; alter table stored_entries rename to audit_entries');
  }
}

test('filtered reads that take too long are refused, and delay those of no other organization', async () => {
  const slow = await Promise.all([createOrganization('Slow'), createOrganization('Slower')]);
  await whileSlow(slow, 20, async () => {
    const left = slow.map((organization) => codeOf(readCreated(organization, { timeoutMs: 200 })));
    expect(await Promise.all(left)).toEqual(['deadline_exceeded', 'deadline_exceeded']);
    expect((await readCreated(honest)).page?.total).toBe('1');
    const tooSlow = slow.map((organization) => readCreated(organization).catch((cause: unknown) => cause));
    expect((await readCreated(honest)).page?.total).toBe('1');
    for (const refusal of await Promise.all(tooSlow))
      expect(refusal).toMatchObject({ code: 'invalid_request', param: 'date_from', message: expect.stringContaining('date_to') });
  });
});

test('the statements of a filtered read share its time', async () => {
  const slow = await createOrganization('Slowest');
  await whileSlow([slow], 1.2, async () => {
    const refusal = { code: 'invalid_request', param: 'date_from' };
    await expect(readCreated(slow)).rejects.toMatchObject(refusal);
  });
});

test('1,000 keys of a user are revoked with it and 40 others one by one, while another organization authenticates', async () => {
  const { userId } = busy;
  const created = await identity.as({ ...busy.principal, scopes: ['users:write'] }, () =>
    identity.gateway.createUser({ name: 'Many', email: 'many-keys@busy.example' }),
  );
  const many = created.user?.id ?? '';
  const add = (prefix: string, user: string, count: number) =>
    database.query(
      `insert into api_keys (organization_id, id, environment, user_id, hash, hint, scopes, admin, created_at)
       select $1, $2 || n, 'live', $3, $2 || n, '', '{}', false, now() from generate_series(1, $4::int) n`,
      [busy.organizationId, prefix, user, count],
    );
  await Promise.all([add('key_many_', many, 1_000), add('key_single_', userId, 40)]);
  let isDone = false;
  const work = Promise.all([
    identity.as({ ...busy.principal, scopes: ['users:write'] }, () => identity.gateway.updateUser({ userId: many, status: 'deactivated' })),
    ...Array.from({ length: 40 }, (_, n) => identity.operator.revokeKey({ keyId: `key_single_${n + 1}` })),
  ]).finally(() => {
    isDone = true;
  });
  let authenticated = 0;
  while (!isDone) {
    expect(await refusalsOf(honest.liveApiKey)).toEqual(['none']);
    authenticated += 1;
  }
  const [updated] = await work;
  expect(updated.endedCredentials).toMatchObject({ apiKeys: 1_000 });
  expect(authenticated).toBeGreaterThan(0);
  const { rows } = await database.query<{ count: number }>(
    'select count(*)::int as count from api_keys where organization_id = $1 and revoked_at is null',
    [busy.organizationId],
  );
  // The administrator's own two are left.
  expect(rows[0]?.count).toBe(2);
  const recorded = async () =>
    (await database.query(`select 1 from audit_entries where action = 'user.deactivated' and organization_id = $1`, [busy.organizationId]))
      .rowCount;
  await until('the deactivation is in the audit log', async () => (await recorded()) === 1);
  const { faults } = await identity.operator.verifyAuditChain({ organizationId: busy.organizationId });
  expect(faults).toEqual([]);
});

test('revocations that wait for each other hold one connection of an organization', async () => {
  const added = await database.query<{ id: string }>(
    `insert into api_keys (organization_id, id, environment, user_id, hash, hint, scopes, admin, created_at)
     select $1, 'key_waiting_' || n, 'live', $2, 'key_waiting_' || n, '', '{}', false, now() from generate_series(1, 30) n returning id`,
    [busy.organizationId, busy.userId],
  );
  const waiting = () => countLockWaits(identity.url, 'update api_keys');
  const revocations: Promise<string>[] = [];
  await database.query('begin');
  try {
    // A revocation that is about to commit holds the counter of the keys.
    await database.query('select 1 from credential_counts where organization_id = $1 for update', [busy.organizationId]);
    revocations.push(...added.rows.map(({ id }) => codeOf(identity.as(busy.principal, () => identity.gateway.revokeKey({ keyId: id })))));
    await until('the first of them waits', async () => (await waiting()) > 0);
    for (let round = 0; round < 5; round += 1) expect(await refusalsOf(honest.liveApiKey)).toEqual(['none']);
    expect(await waiting()).toBe(1);
  } finally {
    await database.query('rollback');
  }
  expect(new Set(await Promise.all(revocations))).toEqual(new Set(['none']));
});

test('a deactivation in one replica that begins between the writes of a rotation in another waits for it, and both succeed', async () => {
  const replica = await boot({ DATABASE_URL: identity.url });
  const asAdmin = <T>(work: () => T): T => identity.as({ ...busy.principal, scopes: ['users:write'] }, work);
  const waiting = async (statement: string) => (await countLockWaits(identity.url, statement)) > 0;
  const createKey = async () => {
    const email = `${randomUUID()}@busy.example`;
    const userId = (await asAdmin(() => identity.gateway.createUser({ name: 'Member', email }))).user?.id ?? '';
    const { organizationId } = busy;
    return { userId, ...(await identity.operator.createKey({ organizationId, userId, environment: 'live' })) };
  };
  const race = async () => {
    const [{ keyId }, { userId }] = [await createKey(), await createKey()];
    const outcomes: Promise<string>[] = [];
    await database.query('begin');
    try {
      // The rotation stands still before its first audit entry.
      await database.query('lock table outbox in share mode');
      outcomes.push(codeOf(identity.as(busy.principal, () => identity.gateway.rotateKey({ keyId }))));
      await until('the rotation waits', () => waiting('into outbox'));
      outcomes.push(codeOf(asAdmin(() => replica.gateway.updateUser({ userId, status: 'deactivated' }))));
      await until('the deactivation waits', () => waiting('with keys as (update api_keys'));
    } finally {
      await database.query('rollback');
    }
    return await Promise.all(outcomes);
  };
  expect(await undisturbed(race).finally(() => replica.stop())).toEqual(['none', 'none']);
});

test('changes of an administrator in the portal that wait for each other hold one connection of the organization', async () => {
  const portal = createClient('identity', { address: identity.address, as: 'portal', config: identity.config });
  const { organizationId, userId } = await identity.operator.createOrganization({ name: 'Portal', email: 'admin@portal.example' });
  await identity.operator.setUserPassword({ organizationId, userId, password });
  const { opened } = await portal.signIn({
    email: 'admin@portal.example',
    password,
    client: { address: '10.0.0.1', countedAddress: '10.0.0.1' },
  });
  const { sessionToken } = opened ?? { sessionToken: '' };
  const waiting = () => countLockWaits(identity.url, 'from organizations');
  const changes: Promise<string>[] = [];
  await database.query('begin');
  try {
    // A change that is about to commit.
    await database.query('select 1 from organizations where id = $1 for update', [organizationId]);
    for (let n = 0; n < 30; n += 1)
      changes.push(codeOf(portal.createInvitation({ sessionToken, email: `guest${n}@portal.example`, role: 'member' })));
    await until('the first of them waits', async () => (await waiting()) > 0);
    for (let round = 0; round < 5; round += 1) expect(await refusalsOf(honest.liveApiKey)).toEqual(['none']);
    expect(await waiting()).toBe(1);
  } finally {
    await database.query('rollback');
  }
  expect(new Set(await Promise.all(changes))).toEqual(new Set(['none']));
  portal.close();
});

test('a locked time of use of one organization delays those of its own credentials only, and none is lost', async () => {
  const readUses = async () => {
    const { rows } = await observer.query<{ organization_id: string; recent: boolean }>(
      "select organization_id, last_used_at > now() - interval '10 minutes' as recent from credential_uses where organization_id = any($1)",
      [[busy.organizationId, honest.organizationId]],
    );
    return new Map(rows.map(({ organization_id, recent }) => [organization_id, recent]));
  };
  const tokens = [busy.liveApiKey, honest.liveApiKey];
  await refusalsOf(...tokens);
  await until('both uses are written', async () => (await readUses()).size === 2);
  await database.query("update credential_uses set last_used_at = now() - interval '1 hour'");
  await database.query('begin');
  await database.query('select 1 from credential_uses where organization_id = $1 for update', [busy.organizationId]);
  expect(await refusalsOf(...tokens)).toEqual(['none', 'none']);
  await until('the use of the other organization is written', async () => (await readUses()).get(honest.organizationId) === true);
  expect((await readUses()).get(busy.organizationId)).toBe(false);
  await database.query('rollback');
  await until('the use that waited is written', async () => (await readUses()).get(busy.organizationId) === true);
}, 120_000);
