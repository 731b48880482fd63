import { createHash } from 'node:crypto';
import { createClient } from '@agent-service/contracts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client as Database } from 'pg';
import { chainStart } from '../src/domain/audit-chain.ts';
import { type AuditWorld, connectToIdentity, startAuditWorld } from './audit-world.ts';
import { boot } from './booted.ts';

let world: AuditWorld;
let database: AuditWorld['database'];
const append = (...given: Parameters<AuditWorld['append']>) => world.append(...given);

beforeAll(async () => {
  world = await startAuditWorld();
  database = world.database;
});
afterAll(() => world.stop());

describe('chains from before there were keys', () => {
  /** What version 0001 of the schema left: plain hashes, no signature. */
  async function leaveOldChain(database: AuditWorld['database'], organizationId: string, length: number): Promise<void> {
    let previous = chainStart;
    for (let sequence = 1; sequence <= length; sequence += 1) {
      const content = [
        previous,
        organizationId,
        sequence,
        `old${sequence}`,
        '2026-01-01T00:00:00.000Z',
        'live',
        'user',
        'u',
        'k',
        'a',
        't',
        'i',
        'success',
        'r',
        '{}',
      ];
      previous = createHash('sha256').update(JSON.stringify(content)).digest('hex');
      await database.query(
        `insert into audit_entries (organization_id, sequence, id, environment, created_at, actor_type, actor_id, actor_key_id, action, target_type,
           target_id, outcome, request_id, changes_json, hash, key_version)
         values ($1, $2, $3, 'live', '2026-01-01T00:00:00Z', 'user', 'u', 'k', 'a', 't', 'i', 'success', 'r', '{}', $4, 0)`,
        [organizationId, sequence, `old${sequence}`, previous],
      );
    }
    await database.query('insert into audit_chains (organization_id, length, head) values ($1, $2, $3)', [
      organizationId,
      length,
      previous,
    ]);
    await database.query('insert into audit_unsigned_chains values ($1)', [organizationId]);
  }

  test('are signed at the next start, go on with keyed entries, and keep their entries from then on', async () => {
    const before = await boot();
    const old = await connectToIdentity(before.url);
    await old.query('delete from audit_key_start');
    await leaveOldChain(old, 'org_old', 4);
    const again = await boot({ DATABASE_URL: before.url, AUDIT_KEYS: `2:${Buffer.alloc(32, 9).toString('base64')}` });
    try {
      const verify = async () =>
        (await again.operator.verifyAuditChain({ organizationId: 'org_old' })).faults.map(
          ({ sequence, reason }) => `${sequence}: ${reason}`,
        );
      expect(await verify()).toEqual([]);
      const newer = createClient('identity', { address: again.address, as: 'agents', config: again.config });
      await newer.appendAuditEntries({
        entries: [{ id: 'n1', organizationId: 'org_old', environment: 'live', createdAt: '2026-03-01T10:00:00Z' }],
      });
      newer.close();
      const { rows } = await old.query("select key_version from audit_entries where organization_id = 'org_old' order by sequence");
      expect(rows.map((row) => row.key_version)).toEqual([0, 0, 0, 0, 2]);
      expect(await verify()).toEqual([]);
      const { faults } = await before.operator.verifyAuditChain({ organizationId: 'org_old' });
      expect(faults).toMatchObject([{ sequence: '5', reason: 'AUDIT_KEYS has no version 2' }]);
      await old.query('alter table audit_entries disable trigger all');
      await old.query("update audit_entries set actor_id = 'x' where organization_id = 'org_old' and sequence = 2");
      expect(await verify()).toEqual(['2: the entry does not match its hash']);
    } finally {
      await old.end();
      await again.stop();
      await before.stop();
    }
  });

  test('an older replica, which knows no keys, can not add to them meanwhile', async () => {
    const old = `insert into audit_entries (organization_id, sequence, id, environment, created_at, actor_type, actor_id, actor_key_id, action,
      target_type, target_id, outcome, request_id, changes_json, hash) values ('org_mixed', 1, 'x', '', now(), '', '', '', '', '', '', '', '', '', '')`;
    await expect(database.query(old)).rejects.toThrow('key_version');
  });
});
test('with a role that owns nothing the service works, and can not change its log', async () => {
  const role = `${new URL(world.identity.url).pathname.slice(1)}_runtime`;
  await database.query(`create role ${role} login password 'runtime'`);
  const url = new URL(world.identity.url);
  [url.username, url.password] = [role, 'runtime'];
  const apart = await boot({ DATABASE_URL: url.href, DATABASE_OWNER_URL: world.identity.url });
  const runtime = new Database({ connectionString: url.href });
  await runtime.connect();
  try {
    const { organizationId } = await apart.operator.createOrganization({ name: 'Apart' });
    const entries = async () => Number((await apart.operator.verifyAuditChain({ organizationId })).entries);
    while ((await entries()) < 4) await database.query('select pg_sleep(0.01)');
    expect(await apart.operator.verifyAuditChain({ organizationId })).toMatchObject({ appendOnly: true, entries: '4', faults: [] });
    await runtime.query('set search_path = identity');
    // PostgreSQL warns that nothing was granted.
    await runtime.query(`grant update on audit_entries to ${role}`);
    const refused = {
      "update audit_entries set action = 'x'": 'permission denied',
      'delete from audit_entries': 'permission denied',
      'truncate audit_entries': 'permission denied',
      'alter table audit_entries disable trigger all': 'must be owner',
      'drop table audit_entries': 'must be owner',
      "insert into audit_unsigned_chains values ('org_a')": 'permission denied',
      'delete from migrations': 'permission denied',
      [`set role ${new URL(world.identity.url).username}`]: 'permission denied',
    };
    for (const [statement, reason] of Object.entries(refused)) await expect(runtime.query(statement)).rejects.toThrow(reason);
  } finally {
    await runtime.end();
    await apart.stop();
    await database.query(`drop owned by ${role}`);
  }
});
test('a long chain is verified page by page, over as many calls as it takes', async () => {
  for (let from = 0; from < 1_000; from += 250) await append('org_long', 250, from);
  const found = { calls: 0, organizations: 0, entries: 0, faults: 0 };
  let cursor = '';
  do {
    const part = await world.identity.operator.verifyAuditChain({ organizationId: 'org_long', cursor, maxMs: 1 });
    found.calls += 1;
    found.organizations += Number(part.organizations);
    found.entries += Number(part.entries);
    found.faults += part.faults.length;
    // Of this test alone: its role owns the tables.
    expect(part.appendOnly).toBe(false);
    cursor = part.nextCursor;
  } while (cursor !== '');
  expect(found).toMatchObject({ organizations: 1, entries: 1_000, faults: 0 });
  expect(found.calls).toBeGreaterThan(1);
});
