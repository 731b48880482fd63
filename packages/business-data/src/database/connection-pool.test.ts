import { createSemaphore } from '@agent-service/work';
import { expect, test } from '@jest/globals';
import { acquirePermit } from './connection-pool.ts';

test('a caller without a permit learns that the data source is busy, or that the query was cancelled', async () => {
  const semaphore = createSemaphore(1, { maxWaiting: 2 });
  const release = await acquirePermit(semaphore, {});
  const leaving = new AbortController();
  const leaves = acquirePermit(semaphore, { signal: leaving.signal });
  const waits = acquirePermit(semaphore, { limitMs: 0 });
  const busy = { kind: 'unavailable', message: expect.stringContaining('busy') };
  await expect(acquirePermit(semaphore, {})).rejects.toMatchObject(busy);
  leaving.abort();
  await expect(leaves).rejects.toMatchObject({ kind: 'cancelled' });
  await expect(waits).rejects.toMatchObject(busy);
  release();
  expect(await acquirePermit(semaphore, { signal: leaving.signal }).catch(({ kind }) => kind)).toBe('cancelled');
});
