import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AuditWorld, headUpdate, startAuditWorld } from './audit-world.ts';
import { boot } from './booted.ts';

let world: AuditWorld;
let database: AuditWorld['database'];
const append = (...given: Parameters<AuditWorld['append']>) => world.append(...given);
const faultsOf = (organizationId: string) => world.faultsOf(organizationId);
const tamper = (...statements: string[]) => world.tamper(...statements);

beforeAll(async () => {
  world = await startAuditWorld();
  database = world.database;
});
afterAll(() => world.stop());

describe('what the administrator of the database changes is found', () => {
  const at = (organizationId: string, condition: string) => `where organization_id = '${organizationId}' and ${condition}`;
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

  test('all hashes computed anew without the key', async () => {
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
describe('an ordinary entry does not sign what was changed before it', () => {
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

  test('all hashes computed anew without the key', async () => {
    await append('org_recomputed_then_appended', 5);
    await world.recomputeUnkeyed('org_recomputed_then_appended');
    await append('org_recomputed_then_appended', 1, 100);
    expect(await faultsOf('org_recomputed_then_appended')).toEqual([brokenAt(6)]);
  });

  const at = (organizationId: string, condition: string) => `where organization_id = '${organizationId}' and ${condition}`;
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
  test.each(Object.entries(cases))('%s: the log goes on, and the fault stays', async (name, [statements, sequence, expected]) => {
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

  test('a head whose key this replica does not have is left alone, and other organizations get their entries', async () => {
    await append('org_other_key', 2);
    await database.query("update audit_chains set key_version = 9 where organization_id = 'org_other_key'");
    const entry = { environment: 'live', createdAt: '2026-03-01T10:00:00.000Z' };
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
