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
  return failures.map((failure) => {
    const requestId = /"request_id":"([^"]+)"/.exec(failure)?.[1] ?? failure;
    return [failure, ...findLogged(world, (line) => line.includes(requestId) || batchFailure.test(line))].join('\n');
  });
}

/** Further attempts at answers, and what was wrong with a process or a call in the meantime. */
const furtherAttempt = /"event":"answer".*"attempt":(?!1,)|"level":[45]0/;

/** The messages that the model received more than once, and behind them what the processes logged of the reasons. */
export function explainRepeats(world: FaultyWorld): string[] {
  const repeats = [...world.modelRequests].filter(([, times]) => times > 1).map(([marker, times]) => `${marker}: ${times} times`);
  return repeats.length === 0 ? [] : [...repeats, ...findLogged(world, (line) => furtherAttempt.test(line))];
}

function findLogged({ system }: FaultyWorld, isMeant: (line: string) => boolean): string[] {
  const folder = join(system.dataDir, 'logs');
  return readdirSync(folder).flatMap((file) => {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n');
    return lines.filter(isMeant).map((line) => `${file}: ${line}`);
  });
}
