import { Metadata } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { Call, tenantOf } from './call.ts';

const received = { caller: { service: 'gateway' }, requestId: 'req_1', voucher: undefined, ageMs: 0, requestedOnce: undefined };

test('the signal of a call that was cancelled before its handler asked for it is aborted', () => {
  const incoming = { request: {}, metadata: new Metadata(), cancelled: false, getDeadline: () => Date.now() + 1_000, on: () => incoming };
  const call = new Call(incoming, received);
  incoming.cancelled = true;
  expect(call.signal.aborted).toBe(true);
});

const incomingFor = (ms: number) => {
  const incoming = { request: {}, metadata: new Metadata(), cancelled: false, getDeadline: () => Date.now() + ms, on: () => incoming };
  return incoming;
};

test('a call has 30 seconds at most, also where its caller allows more', () => {
  const { expiresAt } = new Call(incomingFor(3_600_000), received);
  expect(expiresAt).toBeGreaterThan(performance.now() + 1_000);
  expect(expiresAt).toBeLessThanOrEqual(performance.now() + 30_000);
});

test('a call whose time is over must have no effect', () => {
  expect(() => new Call(incomingFor(10_000), received).checkDeadline()).not.toThrow();
  expect(() => new Call(incomingFor(10_000), { ...received, ageMs: 10_001 }).checkDeadline()).toThrow(
    expect.objectContaining({ code: 'deadline_exceeded' }),
  );
});

test('a call without a principal has no tenant', () => {
  expect(() => tenantOf(new Call(incomingFor(1_000), received))).toThrow(expect.objectContaining({ code: 'internal' }));
});
