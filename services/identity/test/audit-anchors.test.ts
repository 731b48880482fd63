import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AuditWorld, headUpdate, startAuditWorld } from './audit-world.ts';

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
    expect(await check(anchors.map((anchor) => ({ ...anchor, at: '2020-01-01T00:00:00.000Z' })))).toEqual([
      '3: the anchor does not match its signature',
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
