import { setImmediate as settle } from 'node:timers/promises';
import { startSweep } from '@agent-service/store';
import { expect, test } from '@jest/globals';
import { createCredentialUses } from './credential-uses.ts';

test.each([
  [1, [1]],
  [2_500, [1_000, 1_000, 500]],
])('uses of %i credentials that go on during the writes are written once before the next pause', async (count, expected) => {
  const written: number[] = [];
  const stopping = new AbortController();
  const sql = async (_statement: string, [ids]: [string[]]) => {
    written.push(ids.length);
    recordAll();
    if (written.length === 10) stopping.abort();
    return [];
  };
  const uses = createCredentialUses({ sql } as never);
  function recordAll(): void {
    for (let number = 0; number < count; number += 1) uses.record({ credentialId: `key_${number}`, organizationId: 'org_1' });
  }
  recordAll();
  let stop = async (): Promise<unknown> => undefined;
  const process = { logger: {}, stopping: stopping.signal, onStop: (_part: string, end: typeof stop) => void (stop = end) };
  startSweep(process as never, 'credential uses', 60_000, () => uses.flush());
  await settle();
  expect(written).toEqual(expected);
  stopping.abort();
  await stop();
});
