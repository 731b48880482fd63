import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** Failures of whole batches are logged without the ids of requests. */
const batchFailure = /"event":"(hold_failed|accepting_failed|inserting_failed|explaining_failed|items_failed)"/;

/** The failures, each with what the processes logged of its request and of batches: the reason of a refusal is nowhere else. */
export function explainFailures(world: FaultyWorld, failures: readonly string[]): string[] {
  const folder = join(world.system.dataDir, 'logs');
  return failures.map((failure) => {
    const requestId = /"request_id":"([^"]+)"/.exec(failure)?.[1] ?? failure;
    const lines = readdirSync(folder).flatMap((file) => {
      const logged = readFileSync(join(folder, file), 'utf8').split('\n');
      return logged.filter((line) => line.includes(requestId) || batchFailure.test(line)).map((line) => `${file}: ${line}`);
    });
    return [failure, ...lines].join('\n');
  });
}
