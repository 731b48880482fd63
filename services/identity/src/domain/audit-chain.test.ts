import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type AuditFacts, chainHash, chainStart } from './audit-chain.ts';

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

test('a change of any fact, of the place or of the entry before changes the hash', () => {
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
        const hash = chainHash(chainStart, 'org_a', 1, entry);
        expect(hash).toMatch(/^[0-9a-f]{64}$/);
        expect(chainHash(chainStart, 'org_a', 1, { ...entry, [field]: `${entry[field]}x` })).not.toBe(hash);
        expect(chainHash(hash, 'org_a', 1, entry)).not.toBe(hash);
        expect(chainHash(chainStart, 'org_b', 1, entry)).not.toBe(hash);
        expect(chainHash(chainStart, 'org_a', 2, entry)).not.toBe(hash);
      },
    ),
  );
});
