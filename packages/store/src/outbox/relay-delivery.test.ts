import { ServiceError } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import { createReceiverState, deliverBatch, faultOf } from './relay-delivery.ts';

const messages = Array.from({ length: 64 }, (_, n) => ({ id: String(n), payload: n, organizationId: 'org_a', attempts: 0 }));

/** Delivers the messages to a receiver that fails for some of them without a clear reason. */
async function deliverAll(isRefused: (payload: number) => boolean) {
  let calls = 0;
  const { rest, cause, delivered } = await deliverBatch(
    {
      sql: async () => [],
      topic: 'events',
      claimMs: 10_000,
      logger: { warn: () => undefined, error: () => undefined },
      stopping: new AbortController().signal,
      receiver: createReceiverState(),
      deliver: async (batch) => {
        calls += 1;
        if (batch.some(({ payload }) => isRefused(payload))) throw new ServiceError('internal');
      },
    },
    messages,
  );
  return { calls, rest: rest.length, delivered, hasFailed: cause !== undefined };
}

test('a batch ends when the receiver has failed sixteen times in a row for no clear reason', async () => {
  expect(await deliverAll(() => true)).toEqual({ calls: 16, rest: 58, delivered: 0, hasFailed: true });
  expect(await deliverAll((payload) => payload % 2 === 0)).toMatchObject({ rest: 0, delivered: 32, hasFailed: false });
});

const failedCall = (code: number, details = '') =>
  new ServiceError('internal', { cause: Object.assign(new Error(details), { code, details }) });
test.each([
  ['receiver', new ServiceError('unavailable')],
  ['receiver', new ServiceError('deadline_exceeded')],
  ['receiver', new ServiceError('rate_limited')],
  ['receiver', new ServiceError('service_forbidden')],
  ['receiver', failedCall(8, 'Too many calls')],
  ['receiver', failedCall(12)],
  ['receiver', failedCall(16)],
  ['message', failedCall(8, 'Received message larger than max (9000000 vs 8388608)')],
  ['message', new ServiceError('invalid_request')],
  ['unclear', failedCall(13)],
  ['unclear', new ServiceError('internal')],
  ['unclear', new Error('a bug of the relay')],
] as const)('at fault is the %s: %s', (fault, cause) => {
  expect(faultOf(cause)).toBe(fault);
});
