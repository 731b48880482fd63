import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createPlaces } from './places.ts';

test('places are had in the order of asking, never more at once than there are, and none is lost to those who leave', async () => {
  const visit = fc.record({ leaves: fc.boolean(), waits: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(visit, { maxLength: 12 }), async (count, visits) => {
      const places = createPlaces(count);
      const had: number[] = [];
      let inside = 0;
      const leaving = new AbortController();
      const stay = async (index: number, leaves: boolean, waits: boolean) => {
        const giveBack = await places.take(leaves ? { signal: leaving.signal } : {});
        inside += 1;
        had.push(index);
        expect(inside).toBeLessThanOrEqual(count);
        if (waits) await new Promise(setImmediate);
        inside -= 1;
        giveBack();
        giveBack();
      };
      const stays = visits.map(({ leaves, waits }, index) => stay(index, leaves, waits));
      leaving.abort();
      await Promise.allSettled(stays);
      expect(had).toEqual([...had].sort((a, b) => a - b));
      for (const [index, { leaves }] of visits.entries()) if (!leaves) expect(had).toContain(index);
      await Promise.all(Array.from({ length: count }, () => places.take({ waitMs: 0 })));
      await expect(places.take({ waitMs: 1 })).rejects.toMatchObject({ kind: 'unavailable', message: expect.stringContaining('busy') });
    }),
    { numRuns: 100 },
  );
});
