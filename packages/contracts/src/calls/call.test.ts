import { Metadata } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { Call } from './call.ts';

const received = { caller: { service: 'gateway' }, requestId: 'req_1', voucher: undefined, ageMs: 0, requestedOnce: undefined };

test('the signal of a call that was cancelled before its handler asked for it is aborted', () => {
  const incoming = { request: {}, metadata: new Metadata(), cancelled: false, getDeadline: () => Date.now() + 1_000, on: () => incoming };
  const call = new Call(incoming, received);
  incoming.cancelled = true;
  expect(call.signal.aborted).toBe(true);
});
