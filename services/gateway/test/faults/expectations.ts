import { expect } from '@jest/globals';
import { audit } from './books.ts';
import type { Load } from './load.ts';
import type { FaultyWorld } from './world.ts';

/** Every message has been answered and paid for once, and nothing is left over. How many the model was asked for more often than once. */
export async function expectNothingLost(world: FaultyWorld, load: Load): Promise<number> {
  const { computedAgain, completed, ...findings } = await audit(world, load.sent);
  expect(completed).toBeGreaterThan(0);
  expect(findings).toEqual({
    sent: completed,
    unknown: [],
    answeredTwice: [],
    wronglyCharged: [],
    ledgerFaults: [],
    leftOver: { answers: 0, in_lines: 0, open_holds: 0 },
  });
  return computedAgain;
}
