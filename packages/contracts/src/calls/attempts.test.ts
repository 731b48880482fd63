import { expect, test } from '@jest/globals';
import { ServiceError } from '../errors/service-error.ts';
import { callOnce, callWithFailover, DuplicateBudget, type OutgoingCall } from './attempts.ts';
import type { Replica, ReplicaSet } from './replicas.ts';
import { channelOptions } from './transport.ts';

const createReplica = (target: string) => ({ target, heardAt: 0, state: 'serving' }) as Replica;

test('a call that another replica refuses because the first still runs it gets the answer of the first', async () => {
  const [first, second] = [createReplica('first'), createReplica('second')];
  const running = Promise.withResolvers<void>();
  const replicas = {
    isStarted: true,
    pick: () => first,
    pickAnother: (tried: readonly Replica[]) => (tried.includes(second) ? undefined : second),
    check: async () => undefined,
  } as unknown as ReplicaSet;
  const send: OutgoingCall['send'] = (replica, done) => {
    if (replica === first) running.promise.then(() => done(null, { answeredBy: 'first' }));
    else {
      queueMicrotask(() => done(new ServiceError('idempotency_in_progress')));
      setImmediate(running.resolve);
    }
    return { cancel: () => undefined };
  };
  const call = { send, replicas, budget: new DuplicateBudget(), expiresAt: performance.now() + 10_000, signal: undefined };
  expect(await callWithFailover(call)).toEqual({ answeredBy: 'first' });
});

test.each([
  ['that may be repeated', callWithFailover],
  ['that is sent once', callOnce],
])('a call %s waits for longer than a channel does before it connects again', async (_, callAny) => {
  const replica = createReplica('only');
  const replicas = {
    isStarted: true,
    pick: () => replica,
    pickAnother: (tried: readonly Replica[]) => (tried.length > 0 ? undefined : replica),
  } as unknown as ReplicaSet;
  const reconnectedAt = performance.now() + Number(channelOptions['grpc.max_reconnect_backoff_ms']);
  const cause = Object.assign(new Error(), { details: 'No connection established. Last error: ECONNREFUSED.' });
  const send: OutgoingCall['send'] = (_replica, done) => {
    const error = performance.now() < reconnectedAt ? new ServiceError('unavailable', { cause }) : null;
    queueMicrotask(() => done(error, {}));
    return { cancel: () => undefined };
  };
  const call = { send, replicas, budget: new DuplicateBudget(), expiresAt: performance.now() + 10_000, signal: undefined };
  expect(await callAny(call)).toEqual({});
});
