import { getEventListeners } from 'node:events';
import { expect, jest, test } from '@jest/globals';
import { ServiceError } from '../errors/service-error.ts';
import { callOnce, callWithFailover, type Done, DuplicateBudget, type OutgoingCall } from './attempts.ts';
import type { Replica, ReplicaSet } from './replicas.ts';
import { channelOptions } from './transport.ts';

const anyCall = [
  ['that may be repeated', callWithFailover],
  ['that is sent once', callOnce],
] as const;

const createReplica = (target: string) => ({ target, heardAt: 0, state: 'serving' }) as Replica;

const setOf = (...replicas: Replica[]) =>
  ({
    isStarted: true,
    pick: () => replicas[0],
    pickAnother: (tried: readonly Replica[]) => replicas.find((replica) => !tried.includes(replica)),
    find: (target: string) => replicas.find((replica) => replica.target === target),
    check: async () => undefined,
  }) as unknown as ReplicaSet;

/** A call that these replicas may get, with what was sent of it. */
function createCall(replicas: readonly Replica[], answer: (target: string, done: Done) => void, more: Partial<OutgoingCall> = {}) {
  const sent: string[] = [];
  const call: OutgoingCall = {
    send({ target }, done) {
      sent.push(target);
      answer(target, done);
      return { cancel: () => undefined };
    },
    replicas: setOf(...replicas),
    budget: new DuplicateBudget(),
    expiresAt: performance.now() + 10_000,
    signal: undefined,
    ...more,
  };
  return { call, sent };
}

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

test.each(anyCall)('a call %s waits for longer than a channel does before it connects again', async (_, callAny) => {
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

test.each(anyCall)('a call %s is refused at once where every replica has as many calls as it may', async (_, callAny) => {
  const { call } = createCall([], () => undefined);
  await expect(callAny(call)).rejects.toMatchObject({ code: 'unavailable' });
});

const failFirst = (
  code: 'unavailable' | 'deadline_exceeded' | 'not_found' | 'idempotency_in_progress',
  more: Partial<OutgoingCall> = {},
) => {
  const answer = (target: string, done: Done) => queueMicrotask(() => done(target === 'first' ? new ServiceError(code) : null, {}));
  return createCall([createReplica('first'), createReplica('second')], answer, more);
};

test.each(['unavailable', 'deadline_exceeded'] as const)(
  'a call that a replica answers with %s is sent to another at once',
  async (code) => {
    const { call, sent } = failFirst(code);
    expect(await callWithFailover(call)).toEqual({});
    expect(sent).toEqual(['first', 'second']);
  },
);

test.each([
  ['not_found', 10_000],
  ['idempotency_in_progress', 10_000],
  ['deadline_exceeded', 0],
] as const)('a call that a replica answers with %s, %s ms before its time is over, is sent to no other', async (code, leftMs) => {
  const { call, sent } = failFirst(code, { expiresAt: performance.now() + leftMs });
  await expect(callWithFailover(call)).rejects.toMatchObject({ code });
  expect(sent).toEqual(['first']);
});

test('a call that is sent once goes to no other replica where it may have reached the first', async () => {
  const { call, sent } = failFirst('unavailable');
  await expect(callOnce(call)).rejects.toMatchObject({ code: 'unavailable' });
  expect(sent).toEqual(['first']);
});

test.each(anyCall)('a call %s is not sent for a caller that has left', async (_, callAny) => {
  const { call, sent } = createCall([createReplica('only')], (_target, done) => done(null, {}), { signal: AbortSignal.abort() });
  await expect(callAny(call)).rejects.toMatchObject({ code: 'cancelled' });
  expect(sent).toEqual([]);
});

test('the signal of a caller keeps nothing of a call that has ended', async () => {
  const { signal } = new AbortController();
  const { call } = createCall([createReplica('only')], (_target, done) => setImmediate(() => done(null, {})), { signal });
  const result = callOnce(call);
  await Promise.resolve();
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await result;
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('a call to one replica goes to no other, also where no connection to that one could be opened', async () => {
  const cause = Object.assign(new Error(), { details: 'No connection established. Last error: ECONNREFUSED.' });
  const refuse = (_target: string, done: Done) => queueMicrotask(() => done(new ServiceError('unavailable', { cause })));
  const { call, sent } = createCall([createReplica('first'), createReplica('second')], refuse, { target: 'second' });
  await expect(callOnce(call)).rejects.toMatchObject({ code: 'unavailable' });
  expect(sent).toEqual(['second']);
});

test('a call whose time would be over after the pause is not sent again', async () => {
  const refuse = (_target: string, done: Done) => queueMicrotask(() => done(new ServiceError('unavailable')));
  const { call, sent } = createCall([createReplica('only')], refuse, { expiresAt: performance.now() + 20 });
  await expect(callWithFailover(call)).rejects.toMatchObject({ code: 'unavailable' });
  expect(sent).toEqual(['only']);
});

test('a call that a slow replica still runs is not sent to it again when the other replica fails', async () => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask'] });
  let answerFirst: Done = () => undefined;
  const answer = (target: string, done: Done) => {
    if (target === 'first') answerFirst = done;
    else queueMicrotask(() => done(new ServiceError('unavailable')));
  };
  const { call, sent } = createCall([createReplica('first'), createReplica('second')], answer);
  const result = callWithFailover(call);
  await jest.advanceTimersByTimeAsync(3_000);
  expect(sent).toEqual(['first', 'second']);
  answerFirst(null, { answeredBy: 'first' });
  expect(await result).toEqual({ answeredBy: 'first' });
  jest.useRealTimers();
});

test('a call that a slow replica has is sent to no other while the budget is spent', async () => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask'] });
  const budget = new DuplicateBudget();
  for (let spent = 0; spent < 50; spent += 1) budget.spend();
  let answerFirst: Done = () => undefined;
  const { call, sent } = createCall([createReplica('first'), createReplica('second')], (_target, done) => (answerFirst = done), { budget });
  const result = callWithFailover(call);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(sent).toEqual(['first']);
  answerFirst(null, {});
  await result;
  jest.useRealTimers();
});

test('the budget allows 50 duplicates at once, and one more for ten answers', () => {
  const budget = new DuplicateBudget();
  const spendAll = (): number => {
    let spent = 0;
    while (spent < 100 && budget.spend()) spent += 1;
    return spent;
  };
  expect(spendAll()).toBe(50);
  for (let answers = 0; answers < 25; answers += 1) budget.earn();
  expect(spendAll()).toBe(2);
  for (let answers = 0; answers < 2_000; answers += 1) budget.earn();
  expect(spendAll()).toBe(50);
});
