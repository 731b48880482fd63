import { ServiceError, type Tenant } from '@agent-service/contracts';
import { createSlowTenants } from '@agent-service/work';
import { describe, expect, jest, test } from '@jest/globals';
import type { Operation, Result } from '../domain/operations.ts';
import { createLedgerQueue, type LedgerQueueOptions } from './ledgers.ts';

const tenant = (organizationId: string): Tenant => ({ organizationId, environment: 'live' });
const release = (id: string): Operation => ({ kind: 'release', id });
const done: Result = { ok: true, kind: 'release', released: 0 };
const idsOf = (operations: readonly Operation[]) => operations.map((operation) => ('id' in operation ? operation.id : ''));

/** A queue whose commits end when the test calls `end`. */
function ledger(options: Partial<LedgerQueueOptions> = {}) {
  const commits: { ids: string[]; end: (cause?: Error) => void }[] = [];
  const queue = createLedgerQueue({
    commit: (_tenant, operations) =>
      new Promise((resolve, reject) => {
        commits.push({ ids: idsOf(operations), end: (cause) => (cause ? reject(cause) : resolve(operations.map(() => done))) });
      }),
    maxItems: 10,
    maxWaiting: 100,
    tenantsAtOnce: 2,
    slow: createSlowTenants({ permits: 1 }),
    onFailure: () => undefined,
    ...options,
  });
  const submit = (organizationId: string, id: string, limitMs = 5_000) => queue.submit(tenant(organizationId), release(id), limitMs);
  return { commits, submit };
}

/** Lets all pending callbacks run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('the queue of a ledger', () => {
  test('operations that arrive during a batch form the next batch of that tenant', async () => {
    const { commits, submit } = ledger();
    const all = [submit('a', '1')];
    await settle();
    all.push(submit('a', '2'), submit('a', '3'));
    await settle();
    expect(commits.map(({ ids }) => ids)).toEqual([['1']]);
    commits[0]?.end();
    await settle();
    expect(commits.map(({ ids }) => ids)).toEqual([['1'], ['2', '3']]);
    commits[1]?.end();
    expect(await Promise.all(all)).toEqual([done, done, done]);
  });

  test('the number of tenants that commit at once is limited, and none waits while a permit is free', async () => {
    const { commits, submit } = ledger();
    const all = ['a', 'b', 'c'].map((organization) => submit(organization, organization));
    await settle();
    expect(commits.map(({ ids }) => ids)).toEqual([['a'], ['b']]);
    commits[1]?.end();
    await settle();
    expect(commits.map(({ ids }) => ids)).toEqual([['a'], ['b'], ['c']]);
    for (const { end } of commits) end();
    await Promise.all(all);
  });

  test('a batch that fails is split, so that only the faulty operation fails', async () => {
    const batches: string[][] = [];
    const failures: [string[], unknown][] = [];
    const { submit } = ledger({
      onFailure: (entries, cause) => failures.push([idsOf(entries.map(({ operation }) => operation)), cause]),
      commit: async (_tenant, operations) => {
        batches.push(idsOf(operations));
        if (idsOf(operations).includes('bad')) throw new Error('poison');
        return operations.map(() => done);
      },
    });
    const outcomes = await Promise.allSettled([submit('a', '1'), submit('a', 'bad'), submit('a', '2')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(batches).toEqual([['1', 'bad', '2'], ['1', 'bad'], ['1'], ['bad'], ['2']]);
    expect(failures).toEqual([[['bad'], new Error('poison')]]);
  });

  test('a batch is not split if the database is unavailable', async () => {
    const batches: string[][] = [];
    const { submit } = ledger({
      commit: async (_tenant, operations) => {
        batches.push(idsOf(operations));
        throw new ServiceError('unavailable');
      },
    });
    const outcomes = await Promise.allSettled([submit('a', '1'), submit('a', '2')]);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && (outcome.reason as ServiceError).code)).toEqual([
      'unavailable',
      'unavailable',
    ]);
    expect(batches).toEqual([['1', '2']]);
  });

  test('a ledger whose commits time out fails alone, and from then on such ledgers share a few permits of their own', async () => {
    const away = new ServiceError('unavailable', { cause: { code: '55P03' } });
    const { commits, submit } = ledger();
    const locked = ['a', 'b'].map((organization) => submit(organization, organization).catch((cause: unknown) => cause));
    await settle();
    for (const { end } of commits) end(away);
    expect(await Promise.all(locked)).toEqual([away, away]);
    // Both ledgers are still locked. One of them has the permit for slow ledgers; the permits of the others are free.
    const again = ['a', 'b'].map((organization) => submit(organization, `${organization}2`).catch((cause: unknown) => cause));
    await settle();
    const healthy = [submit('c', 'c'), submit('d', 'd')];
    await settle();
    expect(commits.slice(2).map(({ ids }) => ids)).toEqual([['a2'], ['c'], ['d']]);
    for (const { end } of commits.slice(3)) end();
    await Promise.all(healthy);
    commits[2]?.end();
    await settle();
    commits[5]?.end();
    expect(await Promise.all(again)).toEqual([done, done]);
  });

  test('an operation whose caller has been told that it failed is never run', async () => {
    const { commits, submit } = ledger();
    const first = submit('a', '1');
    await settle();
    // The limit's timer may fire before performance.now() has reached the limit.
    jest.useFakeTimers({ doNotFake: ['performance', 'setImmediate', 'nextTick', 'queueMicrotask'] });
    const late = expect(submit('a', 'late', 60_000)).rejects.toMatchObject({ code: 'unavailable' });
    jest.advanceTimersByTime(60_000);
    jest.useRealTimers();
    await late;
    commits[0]?.end();
    await first;
    await settle();
    expect(commits.map(({ ids }) => ids)).toEqual([['1']]);
  });

  test('operations beyond the limit of one ledger are refused at once, until others have ended', async () => {
    const { commits, submit } = ledger({ maxWaiting: 2 });
    const waiting = [submit('a', '1'), submit('a', '2')];
    await expect(submit('a', '3')).rejects.toMatchObject({ code: 'unavailable' });
    await settle();
    commits[0]?.end();
    await Promise.all(waiting);
    const next = [submit('a', '3'), submit('a', '4')];
    await settle();
    commits[1]?.end();
    expect(await Promise.all(next)).toEqual([done, done]);
  });
});
