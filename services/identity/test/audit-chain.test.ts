import { createHash } from 'node:crypto';
import { createClient } from '@agent-service/contracts';
import { until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client as Database } from 'pg';
import { chainStart } from '../src/domain/audit-chain.ts';
import { type AuditWorld, connectToIdentity, headUpdate, startAuditWorld } from './audit-world.ts';
import { boot } from './boot.ts';

let world: AuditWorld;
let database: AuditWorld['database'];
const append = (...values: Parameters<AuditWorld['append']>) => world.append(...values);
const faultsOf = (organizationId: string) => world.faultsOf(organizationId);
const tamper = (...statements: string[]) => world.tamper(...statements);

const at = (organizationId: string, condition: string) => `where organization_id = '${organizationId}' and ${condition}`;

beforeAll(async () => {
  world = await startAuditWorld();
  database = world.database;
});
afterAll(() => world.stop());

describe('chains from before there were keys', () => {
  /** Writes a chain in the form of schema version 0001: plain hashes, no signature. */
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

  test('are signed at the next start, continue with keyed entries, and are protected from then on', async () => {
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
        entries: [{ id: 'n1', organizationId: 'org_old', environment: 'live', action: 'agent.created', createdAt: '2026-03-01T10:00:00Z' }],
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

  test('an older replica, which knows no keys, cannot add to them', async () => {
    const old = `insert into audit_entries (organization_id, sequence, id, environment, created_at, actor_type, actor_id, actor_key_id, action,
      target_type, target_id, outcome, request_id, changes_json, hash) values ('org_mixed', 1, 'x', '', now(), '', '', '', '', '', '', '', '', '', '')`;
    await expect(database.query(old)).rejects.toThrow('key_version');
  });
});
test('with a role that owns nothing the service works, and cannot change its log', async () => {
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
test('a row of the outbox that the service did not write breaks no chain, and is set aside if it is no entry', async () => {
  const write = (id: string, change: object) => {
    const facts = {
      environment: '',
      actorType: 'operator',
      actorId: 'operator',
      actorKeyId: '',
      action: 'user.created',
      outcome: 'success',
    };
    const rest = { targetType: 'user', targetId: 'u', requestId: '', changesJson: '{}', createdAt: '2026-03-01T10:00:00.1234Z' };
    const payload = { id, organizationId: 'org_outbox', ...facts, ...rest, ...change };
    return database.query("insert into outbox (id, topic, payload) values ($1, 'audit', $2)", [id, JSON.stringify(payload)]);
  };
  await write('a_time_with_four_decimals', {});
  await write('b_no_text', { actorId: 5 });
  await write('c_no_time', { createdAt: undefined });
  await write('d_large', { requestId: 'x'.repeat(1_001) });
  const countOf = async (table: string) => (await database.query(`select 1 from ${table} where organization_id = 'org_outbox'`)).rowCount;
  await until('the outbox has been read', async () => (await countOf('audit_entries')) === 1 && (await countOf('dead_letters')) === 3);
  expect(await faultsOf('org_outbox')).toEqual([]);
  await append('org_outbox', 2);
  expect(await faultsOf('org_outbox')).toEqual([]);
});

test('a long chain is verified page by page, over as many calls as it takes', async () => {
  for (let from = 0; from < 1_000; from += 250) await append('org_long', 250, from);
  const totals = { calls: 0, organizations: 0, entries: 0, faults: 0 };
  let cursor = '';
  do {
    const part = await world.identity.operator.verifyAuditChain({ organizationId: 'org_long', cursor, maxMs: 1 });
    totals.calls += 1;
    totals.organizations += Number(part.organizations);
    totals.entries += Number(part.entries);
    totals.faults += part.faults.length;
    // The role of this test owns the tables.
    expect(part.appendOnly).toBe(false);
    cursor = part.nextCursor;
  } while (cursor !== '');
  expect(totals).toMatchObject({ organizations: 1, entries: 1_000, faults: 0 });
  expect(totals.calls).toBeGreaterThan(1);
});

describe('anchors', () => {
  const check = async (anchors: Parameters<typeof world.identity.operator.checkAuditAnchors>[0]['anchors']) =>
    (await world.identity.operator.checkAuditAnchors({ anchors: anchors ?? [] })).faults.map(
      ({ sequence, reason }) => `${sequence}: ${reason}`,
    );

  test('a chain that is put back to an earlier state, signature included, is found by an anchor alone', async () => {
    await append('org_anchored', 5);
    const { rows } = await database.query("select * from audit_chains where organization_id = 'org_anchored'");
    await append('org_anchored', 5, 5);
    const { anchors } = await world.identity.operator.listAuditAnchors({ organizationId: 'org_anchored' });
    expect(anchors).toMatchObject([{ organizationId: 'org_anchored', sequence: '10', keyVersion: 1 }]);
    await append('org_anchored', 5, 10);
    expect(await check(anchors)).toEqual([]);

    const [earlier] = rows;
    await tamper(
      "delete from audit_entries where organization_id = 'org_anchored' and sequence > 5",
      `update audit_chains set length = 5, head = '${earlier.head}', mac = '${earlier.mac}', counts = '{"live":5}' where organization_id = 'org_anchored'`,
    );
    expect(await faultsOf('org_anchored')).toEqual([]);
    expect(await check(anchors)).toEqual(['10: the entry of the anchor is missing']);
    await append('org_anchored', 7, 20);
    expect(await faultsOf('org_anchored')).toEqual([]);
    expect(await check(anchors)).toEqual(['10: the chain does not contain the anchor']);
  });

  test('an anchor that was changed is refused, and a chain with a false head gets none', async () => {
    await append('org_changed_anchor', 3);
    const { anchors } = await world.identity.operator.listAuditAnchors({ organizationId: 'org_changed_anchor' });
    for (const changed of [{ at: '2020-01-01T00:00:00.000Z' }, { sequence: '2' }, { hash: 'b'.repeat(64) }])
      expect(await check(anchors.map((anchor) => ({ ...anchor, ...changed })))).toEqual([
        `${changed.sequence ?? 3}: the anchor does not match its signature`,
      ]);
    expect(await check(anchors.map((anchor) => ({ ...anchor, keyVersion: 9 })))).toEqual(['3: AUDIT_KEYS has no version 9']);
    await tamper(
      "delete from audit_entries where organization_id = 'org_changed_anchor' and sequence = 3",
      headUpdate('org_changed_anchor'),
    );
    const { anchors: none, faults } = await world.identity.operator.listAuditAnchors({ organizationId: 'org_changed_anchor' });
    expect(none).toEqual([]);
    expect(faults).toMatchObject([{ organizationId: 'org_changed_anchor', sequence: '2' }]);
  });
});

describe('a change by the administrator of the database is found', () => {
  const cases: Record<string, [(organizationId: string) => string[], string]> = {
    'a changed entry': [
      (id) => [`update audit_entries set changes_json = '{}' ${at(id, 'sequence = 3')}`],
      '3: the entry does not match its hash',
    ],
    'a removed entry': [(id) => [`delete from audit_entries ${at(id, 'sequence = 3')}`], '3: the entry is missing'],
    'the last entry removed': [(id) => [`delete from audit_entries ${at(id, 'sequence = 5')}`], '5: the entry is missing'],
    'the chain cut, with a new head': [
      (id) => [`delete from audit_entries ${at(id, 'sequence > 3')}`, headUpdate(id)],
      '4: the head of the chain does not match its signature',
    ],
    'the chain cut, with an unsigned head': [
      (id) => [
        `delete from audit_entries ${at(id, 'sequence > 3')}`,
        headUpdate(id),
        `update audit_chains set mac = null, key_version = null ${at(id, 'true')}`,
      ],
      '4: the head of the chain is not signed',
    ],
    'a head before the last entry': [
      (id) => [`update audit_chains set length = 4, head = (select hash from audit_entries ${at(id, 'sequence = 4')}) ${at(id, 'true')}`],
      '5: the head of the chain does not match its signature',
    ],
    'two entries swapped': [
      (id) => [
        `update audit_entries set sequence = sequence + 100 ${at(id, 'sequence in (2, 3)')}`,
        `update audit_entries set sequence = 105 - sequence ${at(id, 'sequence > 100')}`,
      ],
      '2: the entry does not match its hash',
    ],
    'an entry behind the head': [
      (id) => [
        `insert into audit_entries select organization_id, 6, 'new', environment, created_at, actor_type, actor_id, actor_key_id, action,
        target_type, target_id, outcome, request_id, changes_json, hash, key_version from audit_entries ${at(id, 'sequence = 5')}`,
      ],
      '6: the chain does not end with its newest entry',
    ],
    'an entry without a key behind one with a key': [
      (id) => [`update audit_entries set key_version = 0 ${at(id, 'sequence = 4')}`],
      '4: an entry without a key follows one with a key',
    ],
    'the row of the chain removed': [(id) => [`delete from audit_chains ${at(id, 'true')}`], '1: the chain is missing'],
  };
  test.each(Object.entries(cases))('%s', async (name, [statements, expected]) => {
    const organizationId = `org_${name.replaceAll(' ', '_')}`;
    await append(organizationId, 5);
    expect(await faultsOf(organizationId)).toEqual([]);
    await tamper(...statements(organizationId));
    expect(await faultsOf(organizationId)).toEqual([expected]);
  });

  test('all hashes recomputed without the key', async () => {
    await append('org_recomputed', 5);
    await world.recomputeUnkeyed('org_recomputed');
    expect(await faultsOf('org_recomputed')).toEqual(['6: the head of the chain does not match its signature']);
  });

  test('a whole log removed, of an organization that is older than an hour', async () => {
    const { organizationId } = await world.identity.operator.createOrganization({ name: 'Removed' });
    while ((await database.query('select 1 from audit_entries where organization_id = $1', [organizationId])).rowCount !== 4)
      await database.query('select pg_sleep(0.01)');
    await tamper(
      `delete from audit_entries where organization_id = '${organizationId}'`,
      `delete from audit_chains where organization_id = '${organizationId}'`,
      `update organizations set created_at = now() - interval '2 hours' where id = '${organizationId}'`,
    );
    expect(await faultsOf(organizationId)).toEqual(['1: the chain is missing']);
    const { faults } = await world.identity.operator.verifyAuditChain({});
    expect(faults.map((fault) => fault.organizationId)).toContain(organizationId);
  });
});
describe('an ordinary entry does not sign a change before it', () => {
  const brokenAt = (sequence: number) => `${sequence}: the chain before this entry did not match its signature when the entry was added`;

  test('a chain cut, with a new head', async () => {
    await append('org_cut_then_appended', 50);
    await tamper(
      "delete from audit_entries where organization_id = 'org_cut_then_appended' and sequence > 43",
      headUpdate('org_cut_then_appended'),
    );
    await append('org_cut_then_appended', 1, 100);
    expect(await faultsOf('org_cut_then_appended')).toEqual([brokenAt(44)]);
    await append('org_cut_then_appended', 3, 101);
    expect(await faultsOf('org_cut_then_appended')).toEqual([brokenAt(44)]);
    await database.query("update audit_chains set broken_from = null where organization_id = 'org_cut_then_appended'");
    expect(await faultsOf('org_cut_then_appended')).toEqual(['48: the head of the chain does not match its signature']);
    await append('org_cut_then_appended', 1, 110);
    expect(await faultsOf('org_cut_then_appended')).toEqual([brokenAt(48)]);
  });

  test('all hashes recomputed without the key', async () => {
    await append('org_recomputed_then_appended', 5);
    await world.recomputeUnkeyed('org_recomputed_then_appended');
    await append('org_recomputed_then_appended', 1, 100);
    expect(await faultsOf('org_recomputed_then_appended')).toEqual([brokenAt(6)]);
  });

  const cases: Record<string, [(organizationId: string) => string[], number, string]> = {
    'the signature removed': [(id) => [`update audit_chains set mac = null, key_version = null ${at(id, 'true')}`], 6, brokenAt(6)],
    'the last entry removed': [(id) => [`delete from audit_entries ${at(id, 'sequence = 5')}`], 5, brokenAt(5)],
    'the row of the chain removed': [(id) => [`delete from audit_chains ${at(id, 'true')}`], 6, brokenAt(6)],
    'an entry behind the head': [
      (id) => [
        `insert into audit_entries select organization_id, 6, 'new', environment, created_at, actor_type, actor_id, actor_key_id, action,
        target_type, target_id, outcome, request_id, changes_json, hash, key_version from audit_entries ${at(id, 'sequence = 5')}`,
      ],
      7,
      '6: the entry does not match its hash',
    ],
  };
  test.each(Object.entries(cases))('%s: the log continues, and the fault stays', async (name, [statements, sequence, expected]) => {
    const organizationId = `org_next_${name.replaceAll(' ', '_')}`;
    await append(organizationId, 5);
    await tamper(...statements(organizationId));
    await append(organizationId, 1, 100);
    const { rows } = await database.query("select sequence from audit_entries where organization_id = $1 and id = 'e00100'", [
      organizationId,
    ]);
    expect(rows).toEqual([{ sequence: String(sequence) }]);
    expect(await faultsOf(organizationId)).toEqual([expected]);
  });

  test('a whole log and its chain removed, of an organization that is older than an hour', async () => {
    await database.query(
      "insert into organizations (id, name, created_at) values ('org_emptied', 'Emptied', '2026-01-01T00:00:00Z') on conflict do nothing",
    );
    await tamper(
      "delete from audit_entries where organization_id = 'org_emptied'",
      "delete from audit_chains where organization_id = 'org_emptied'",
    );
    await append('org_emptied', 1);
    expect(await faultsOf('org_emptied')).toEqual([brokenAt(1)]);
  });

  test('a head whose key this replica does not have stays as it is, and other organizations get their entries', async () => {
    await append('org_other_key', 2);
    await database.query("update audit_chains set key_version = 9 where organization_id = 'org_other_key'");
    const entry = { environment: 'live', action: 'agent.created', createdAt: '2026-03-01T10:00:00.000Z' };
    const entries = ['org_other_key', 'org_same_batch'].map((organizationId) => ({ ...entry, id: 'k1', organizationId }));
    await expect(world.agents.appendAuditEntries({ entries })).rejects.toMatchObject({ code: 'unavailable' });
    const { rows } = await database.query("select organization_id from audit_entries where id = 'k1'");
    expect(rows).toEqual([{ organization_id: 'org_same_batch' }]);
  });

  test('a start does not sign a chain again whose signature was removed', async () => {
    await append('org_posing_as_old', 5);
    await world.recomputeUnkeyed('org_posing_as_old');
    const pose = async () => {
      await database.query("update audit_chains set mac = null, key_version = null where organization_id = 'org_posing_as_old'");
      await database.query("insert into audit_unsigned_chains values ('org_posing_as_old') on conflict do nothing");
      const again = await boot({ DATABASE_URL: world.identity.url });
      await again.stop();
    };
    await pose();
    expect(await faultsOf('org_posing_as_old')).toEqual(['6: the head of the chain is not signed']);
    await database.query('delete from audit_key_start');
    await pose();
    expect(await faultsOf('org_posing_as_old')).toEqual(['6: the head of the chain is not signed']);
    await append('org_posing_as_old', 1, 100);
    expect(await faultsOf('org_posing_as_old')).toEqual([brokenAt(6)]);
  });
});
