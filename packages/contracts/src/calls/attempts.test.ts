import { expect, test } from '@jest/globals';
import { ServiceError } from '../errors/service-error.ts';
import { callWithFailover, DuplicateBudget, type OutgoingCall } from './attempts.ts';
import type { Replica, ReplicaSet } from './replicas.ts';

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
