import { currentCall, ServiceError, withCall } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import { publishedKeys } from './published-keys.ts';

test('keys are never older than a second, however slowly identity answered', async () => {
  let now = 0;
  let calls = 0;
  const identity = {
    listSigningKeys: async () => {
      calls++;
      now += 400;
      return { keys: [{ kid: `k${calls}`, n: 'n', e: 'e' }] };
    },
  };
  const keys = publishedKeys(identity as never, () => now);
  expect(await keys()).toMatchObject([{ kid: 'k1' }]);
  now = 999;
  expect(await keys()).toMatchObject([{ kid: 'k1' }]);
  now = 1_000;
  expect(await keys()).toMatchObject([{ kid: 'k2' }]);
});

test('a caller that disconnects does not end the one request that others wait for', async () => {
  let calls = 0;
  const released = Promise.withResolvers<void>();
  const identity = {
    listSigningKeys: () =>
      new Promise((resolve, reject) => {
        calls += 1;
        currentCall()?.signal?.addEventListener('abort', () => reject(new ServiceError('cancelled')));
        void released.promise.then(() => resolve({ keys: [{ kid: 'k1', n: 'n', e: 'e' }] }));
      }),
  };
  const keys = publishedKeys(identity as never);
  const client = new AbortController();
  const first = withCall({ requestId: 'r', expiresAt: Number.POSITIVE_INFINITY, signal: client.signal }, keys).catch(() => 'left');
  const second = keys();
  client.abort();
  released.resolve();
  expect(await second).toMatchObject([{ kid: 'k1' }]);
  await first;
  expect(calls).toBe(1);
});
