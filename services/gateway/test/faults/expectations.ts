import { expect } from '@jest/globals';
import { audit } from './figures.ts';
import type { Load } from './load.ts';
import type { FaultyWorld } from './world.ts';

/** Expects that every message was answered and charged once and that no work is left. Returns how many messages the model received more than once. */
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
