import { testDatabase } from '@agent-service/testkit';
import { createSemaphore } from '@agent-service/work';
import { expect, test } from '@jest/globals';
import { poolSettings } from './connection.ts';
import { acquirePermit, createConnectionPool } from './connection-pool.ts';

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

test('a pool that closes completes the uses that wait, and what follows them at once, and refuses later ones', async () => {
  const { url, drop } = await testDatabase();
  const pool = createConnectionPool({ max: 1, queueTimeoutMs: 30_000, onLost: () => undefined });
  const login = { driver: poolSettings({ url }) };
  const use = <T>(work: () => Promise<T>) => pool.use(login, { timeoutMs: 10_000 }, work);
  const { promise, resolve } = Promise.withResolvers<string>();
  const first = use(() => promise);
  const second = use(async () => 'second');
  const third = second.then(() => use(async () => 'third'));
  try {
    const closed = pool.close();
    // As a source that takes its place while the first use runs.
    await new Promise(setImmediate);
    resolve('first');
    expect(await Promise.all([first, second, third])).toEqual(['first', 'second', 'third']);
    await closed;
    await expect(use(async () => 'late')).rejects.toMatchObject({ kind: 'unavailable' });
  } finally {
    await drop();
  }
});
