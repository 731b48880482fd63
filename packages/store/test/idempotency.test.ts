import type { Call } from '@agent-service/contracts';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { idempotencyTable, migrate, migration, once, openStore, type Store, sweepIdempotency } from '../src/index.ts';

const settings = { HOST: '127.0.0.1', OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 } as const;

let database: TestDatabase;
let running: RunningProcess<readonly [Store, Store]>;
/** Two replicas of a service, on one database. */
let replicas: readonly [Store, Store];
beforeAll(async () => {
  database = await testDatabase();
  running = await createProcess('test', settings, async (process) => {
    await migrate({ url: database.url, schema: 'effects', migrations: [migration('0001', idempotencyTable)] });
    const open = () => openStore(process, { DATABASE_URL: database.url, DATABASE_POOL_MAX: 4 }, { schema: 'effects', entities: [] });
    return [await open(), await open()] as const;
  });
  replicas = running.started;
});
afterAll(async () => {
  await running.stop();
  await database.drop();
});

/** Runs an effect once for the key, and tells whether the response was a stored one. */
async function run(
  store: Store,
  scope: string,
  effect: () => Promise<{ name: string }>,
  { fingerprint = 'same', checkDeadline = () => undefined }: { fingerprint?: string; checkDeadline?: () => void } = {},
) {
  const call = {
    principal: { organizationId: 'org_a' },
    requestedOnce: { scope, fingerprint },
    signal: new AbortController().signal,
    checkDeadline,
    replayed: false,
  };
  const { name } = await once(store, call as unknown as Call, effect);
  return [name, call.replayed];
}
const make = (name: string) => async () => ({ name });
const age = (scope: string, hours: number) =>
  replicas[0].sql(`update idempotency_records set created_at = now() - $2 * interval '1 minute' where scope = $1`, [scope, hours * 60]);

test('while an effect runs in one replica, the same request to another is refused, and gets its response afterwards', async () => {
  const [one, other] = replicas;
  const { promise: isRunning, resolve: begin } = Promise.withResolvers<void>();
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  const first = run(one, 'twice', async () => {
    begin();
    await mayEnd;
    return { name: 'first' };
  });
  await isRunning;
  await expect(run(other, 'twice', make('second'))).rejects.toMatchObject({ code: 'idempotency_in_progress' });
  expect(await run(other, 'another', make('second'))).toEqual(['second', false]);
  end();
  expect(await first).toEqual(['first', false]);
  expect(await run(other, 'twice', make('second'))).toEqual(['first', true]);
});

test('repetitions of a request that has ended get its response, also those that meet each other', async () => {
  const [one, other] = replicas;
  await run(one, 'repeated', make('first'));
  const repetitions = Array.from({ length: 16 }, (_, index) => run(index % 2 === 0 ? one : other, 'repeated', make('second')));
  for (const repetition of await Promise.all(repetitions)) expect(repetition).toEqual(['first', true]);
  const changed = Array.from({ length: 8 }, () => run(other, 'repeated', make('second'), { fingerprint: 'another' }));
  for (const outcome of await Promise.allSettled(changed)) expect(outcome).toMatchObject({ reason: { code: 'idempotency_key_reused' } });
});

test('a response is kept for 24 hours and no longer, and the sweep removes what is older', async () => {
  const [store] = replicas;
  for (const scope of ['kept', 'expired', 'swept']) await run(store, scope, make('first'));
  await age('kept', 23.9);
  await age('expired', 24.1);
  await age('swept', 24.1);
  expect(await run(store, 'kept', make('second'))).toEqual(['first', true]);
  expect(await run(store, 'expired', make('second'))).toEqual(['second', false]);
  expect(await run(store, 'expired', make('third'))).toEqual(['second', true]);
  expect(await sweepIdempotency(store.sql)).toBe(1);
  expect(await store.sql('select 1 from idempotency_records where scope = any($1)', [['kept', 'expired', 'swept']])).toHaveLength(2);
});

test('an effect that ends after its caller has stopped waiting stores nothing', async () => {
  const [store] = replicas;
  const late = () => {
    throw new Error('too late');
  };
  await expect(run(store, 'late', make('first'), { checkDeadline: late })).rejects.toThrow('too late');
  expect(await run(store, 'late', make('second'))).toEqual(['second', false]);
});
