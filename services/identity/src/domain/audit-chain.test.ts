import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type AuditFacts, anchorMac, chainStart, entryHash, headMac, newestVersion } from './audit-chain.ts';

const keys = new Map([
  [1, Buffer.alloc(32, 1)],
  [2, Buffer.alloc(32, 2)],
]);

const facts: fc.Arbitrary<AuditFacts> = fc.record({
  id: fc.string(),
  createdAt: fc.string(),
  environment: fc.string(),
  actorType: fc.string(),
  actorId: fc.string(),
  actorKeyId: fc.string(),
  action: fc.string(),
  targetType: fc.string(),
  targetId: fc.string(),
  outcome: fc.string(),
  requestId: fc.string(),
  changesJson: fc.string(),
});

test.each([0, 1, 2])('a change of any fact, of the place or of the entry before changes the hash (key version %i)', (version) => {
  fc.assert(
    fc.property(
      facts,
      fc.constantFrom(
        ...([
          'id',
          'createdAt',
          'environment',
          'actorType',
          'actorId',
          'actorKeyId',
          'action',
          'targetType',
          'targetId',
          'outcome',
          'requestId',
          'changesJson',
        ] as const),
      ),
      (entry, field) => {
        const at = (organizationId: string, sequence: number) => ({ organizationId, sequence });
        const hash = entryHash(keys, version, chainStart, at('org_a', 1), entry) ?? '';
        expect(hash).toMatch(/^[0-9a-f]{64}$/);
        expect(entryHash(keys, version, chainStart, at('org_a', 1), { ...entry, [field]: `${entry[field]}x` })).not.toBe(hash);
        expect(entryHash(keys, version, hash, at('org_a', 1), entry)).not.toBe(hash);
        expect(entryHash(keys, version, chainStart, at('org_b', 1), entry)).not.toBe(hash);
        expect(entryHash(keys, version, chainStart, at('org_a', 2), entry)).not.toBe(hash);
        expect(entryHash(keys, 3 - version, chainStart, at('org_a', 1), entry)).not.toBe(hash);
        expect(entryHash(new Map(), version, chainStart, at('org_a', 1), entry)).toBe(version === 0 ? hash : undefined);
      },
    ),
  );
});

test('the signatures of an entry, of an end and of an anchor are not each other', () => {
  const head = { organizationId: 'org_a', sequence: 3, hash: 'a'.repeat(64) };
  const anchor = { ...head, at: '2026-03-01T10:00:00.000Z' };
  const signatures = [1, 2].flatMap((version) => [headMac(keys, version, head), anchorMac(keys, version, anchor)]);
  expect(new Set(signatures).size).toBe(4);
  for (const changed of [{ organizationId: 'org_b' }, { sequence: 4 }, { hash: 'b'.repeat(64) }]) {
    expect(headMac(keys, 1, { ...head, ...changed })).not.toBe(signatures[0]);
    expect(anchorMac(keys, 1, { ...anchor, ...changed })).not.toBe(signatures[1]);
  }
  expect(anchorMac(keys, 1, { ...anchor, at: '2026-03-01T10:00:00.001Z' })).not.toBe(signatures[1]);
  expect(headMac(keys, 3, head)).toBeUndefined();
});

test('the signature of an end covers its break', () => {
  const head = { organizationId: 'org_a', sequence: 3, hash: 'a'.repeat(64) };
  const signatures = [undefined, 2, 3].map((brokenFrom) => headMac(keys, 1, { ...head, brokenFrom }));
  expect(new Set(signatures).size).toBe(3);
  // Replicas of the version before breaks verify this one.
  expect(signatures[0]).toBe('8a96d983206d8cd73759f1a0dcd64e50d369133b3f1720155d82b285dd3dd8c6');
});

test('the highest version of the keys signs', () => {
  expect(newestVersion(keys)).toBe(2);
});
