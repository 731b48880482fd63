import { ServiceError } from '@agent-service/contracts';
import { createSlowTenants } from '@agent-service/work';
import { describe, expect, test } from '@jest/globals';
import type { Tenant } from '../domain/accounts.ts';
import type { Operation, Result } from '../domain/operations.ts';
import { createLedgerQueue, type LedgerQueueOptions } from './ledger-queue.ts';

const tenant = (organizationId: string): Tenant => ({ organizationId, environment: 'live' });
const release = (id: string): Operation => ({ kind: 'release', id });
const done: Result = { ok: true, kind: 'release', released: 0 };
const idsOf = (operations: readonly Operation[]) => operations.map((operation) => ('id' in operation ? operation.id : ''));

/** A ledger whose commits end when the test says so. */
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
    ...options,
  });
  const submit = (organizationId: string, id: string, limitMs = 5_000) => queue.submit(tenant(organizationId), release(id), limitMs);
  return { commits, submit };
}

/** Lets everything run that waits for nothing. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('the queue of a ledger', () => {
  test('what comes while a batch is out makes the next batch of that tenant', async () => {
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

  test('no more tenants commit at once than there are slots, and none waits for one that is not in its way', async () => {
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

  test('a batch that fails is run again by halves, so that only the faulty operation fails', async () => {
    const seen: string[][] = [];
    const { submit } = ledger({
      commit: async (_tenant, operations) => {
        seen.push(idsOf(operations));
        if (idsOf(operations).includes('bad')) throw new Error('poison');
        return operations.map(() => done);
      },
    });
    const outcomes = await Promise.allSettled([submit('a', '1'), submit('a', 'bad'), submit('a', '2')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(seen).toEqual([['1', 'bad', '2'], ['1', 'bad'], ['1'], ['bad'], ['2']]);
  });

  test('a database that is away is asked once a batch, not once an operation', async () => {
    const seen: string[][] = [];
    const { submit } = ledger({
      commit: async (_tenant, operations) => {
        seen.push(idsOf(operations));
        throw new ServiceError('unavailable');
      },
    });
    const outcomes = await Promise.allSettled([submit('a', '1'), submit('a', '2')]);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && (outcome.reason as ServiceError).code)).toEqual([
      'unavailable',
      'unavailable',
    ]);
    expect(seen).toEqual([['1', '2']]);
  });

  test('a ledger whose commits time out fails alone, and from then on such ledgers have their own few places', async () => {
    const away = new ServiceError('unavailable', { cause: { code: '55P03' } });
    const { commits, submit } = ledger();
    const locked = ['a', 'b'].map((organization) => submit(organization, organization).catch((cause: unknown) => cause));
    await settle();
    for (const { end } of commits) end(away);
    expect(await Promise.all(locked)).toEqual([away, away]);
    // Both ledgers are still locked, and yet only one of them holds a place, and none of the healthy ones'.
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
    await expect(submit('a', 'late', 5)).rejects.toMatchObject({ code: 'unavailable' });
    commits[0]?.end();
    await first;
    await settle();
    expect(commits.map(({ ids }) => ids)).toEqual([['1']]);
  });

  test('more than may wait for one ledger is refused at once', async () => {
    const { commits, submit } = ledger({ maxWaiting: 2 });
    const kept = [submit('a', '1'), submit('a', '2')];
    await expect(submit('a', '3')).rejects.toMatchObject({ code: 'unavailable' });
    await settle();
    commits[0]?.end();
    await Promise.all(kept);
  });
});
