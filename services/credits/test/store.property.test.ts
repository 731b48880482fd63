import type { Tenant } from '@agent-service/contracts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { dayMs } from '../src/domain/calendar.ts';
import type { Operation } from '../src/domain/operations.ts';
import { anyHistory, historyStart, type Round, topHistory } from '../src/domain/testing/histories.ts';
import { LedgerInMemory } from '../src/domain/testing/ledger-in-memory.ts';
import type { Ledgers } from '../src/ledger/ledgers.ts';
import { type Composition, compose, usage } from './compose.ts';
import { verifyAll } from './verification.ts';

const runs = Number(process.env['STORE_RUNS'] ?? 15);
const limitMs = 20_000 + runs * 2_000;

let credits: Composition;
let tenants = 0;

beforeAll(async () => {
  credits = await compose(historyStart);
});
afterAll(() => credits.stop());

test(
  'a ledger in the database has the same results for every history as the kernel in memory',
  async () => {
    const property = fc.asyncProperty(anyHistory, async (history) => {
      tenants += 1;
      await sameAnswers({ organizationId: `org_${tenants}`, environment: 'live' }, history, () => credits.ledgers);
    });
    await fc.assert(property, { numRuns: runs });
  },
  limitMs,
);

test(
  'amounts up to the largest have the same results in the database as in memory',
  async () => {
    const property = fc.asyncProperty(topHistory, async (history) => {
      tenants += 1;
      await sameAnswers({ organizationId: `org_${tenants}`, environment: 'live' }, history, () => credits.ledgers);
    });
    await fc.assert(property, { numRuns: runs });
  },
  limitMs,
);

test('the largest limit is carried over, held and charged', async () => {
  const tenant: Tenant = { organizationId: 'org_top', environment: 'live' };
  const top = 2_000_000_000;
  const { ledgers, clock } = credits;
  clock.now = historyStart;
  await ledgers.commit(tenant, [
    { kind: 'grant', id: 'g', amount: 2 * top },
    { kind: 'allocate', id: 'a', userId: 'usr_a', monthlyLimit: top, rollover: true },
  ]);
  clock.now = historyStart + 31 * dayMs;
  const results = await ledgers.commit(tenant, [
    { kind: 'hold', id: 'h', userId: 'usr_a', amount: top, deadline: clock.now },
    { kind: 'settle', id: 'h', amount: top, usage },
  ]);
  expect(results).toMatchObject([{ ok: true }, { ok: true, charge: top }]);
  expect((await contentsOf(tenant)).users).toEqual([`usr_a ${top} 0 ${top} ${top}`]);
});

test(
  'two processes that take turns have the results of one, also if their caches are out of date',
  async () => {
    const property = fc.asyncProperty(anyHistory, fc.infiniteStream(fc.boolean()), async (history, turns) => {
      tenants += 1;
      const next = () => (turns.next().value ? credits.ledgers : credits.others);
      await sameAnswers({ organizationId: `org_${tenants}`, environment: 'live' }, history, next);
    });
    await fc.assert(property, { numRuns: runs });
  },
  limitMs,
);

test('after a failover to a standby that was behind, processes use the database and not their caches', async () => {
  const tenant: Tenant = { organizationId: 'org_set_back', environment: 'live' };
  const { ledgers, others, store } = credits;
  const hold = (id: string): Operation => ({ kind: 'hold', id, userId: 'usr_a', amount: 10, deadline: historyStart + 300_000 });
  await ledgers.commit(tenant, [{ kind: 'grant', id: 'g1', amount: 1_000 }]);
  await ledgers.commit(tenant, [hold('h1')]);
  const tables = ['ledgers', 'user_accounts', 'holds', 'operations', 'transfers'];
  const ours = "organization_id = 'org_set_back'";
  for (const table of tables) await store.sql(`create table ${table}_behind as select * from ${table} where ${ours}`);
  // Changes that the standby does not have.
  for (const id of ['h2', 'h3']) await ledgers.commit(tenant, [hold(id)]);
  await store.sql('alter table transfers disable trigger transfers_append_only');
  for (const table of tables.toReversed()) await store.sql(`delete from ${table} where ${ours}`);
  for (const table of tables) await store.sql(`insert into ${table} select * from ${table}_behind`);
  await store.sql('alter table transfers enable trigger transfers_append_only');
  // As many batches as were lost, by another process.
  await others.commit(tenant, [{ kind: 'grant', id: 'g2', amount: 500 }]);
  await others.commit(tenant, [hold('h4')]);
  await ledgers.commit(tenant, [hold('h5')]);
  expect(await ledgers.find(tenant)).toMatchObject({ issued: 1_500, allocated: 500, pool: 1_000 });
  expect((await contentsOf(tenant)).holds).toEqual(['h1 open 0', 'h4 open 0', 'h5 open 0']);
});

test('a batch that writes nothing has the result of the database, also if the cache is out of date', async () => {
  const tenant: Tenant = { organizationId: 'org_behind', environment: 'live' };
  const { ledgers, others, store, clock } = credits;
  const resultOf = async (operation: Operation) => (await ledgers.commit(tenant, [operation]))[0];
  clock.now = historyStart;
  await ledgers.commit(tenant, [{ kind: 'grant', id: 'g', amount: 1_000 }]);
  await ledgers.commit(tenant, [{ kind: 'hold', id: 'h', userId: 'usr_a', amount: 10, deadline: historyStart }]);
  await others.commit(tenant, [{ kind: 'allocate', id: 'a', userId: 'usr_a', monthlyLimit: 70, rollover: false }]);
  expect(await resultOf({ kind: 'read', userId: 'usr_a' })).toMatchObject({ user: { monthlyLimit: 70, balance: 60 } });
  // A standby that takes over may not have the month that this process started: its sweep would list the account again without end.
  clock.now = historyStart + 31 * dayMs;
  expect(await resultOf({ kind: 'start_month', userId: 'usr_a' })).toMatchObject({ started: true });
  await store.sql("update user_accounts set month = month - 1 where organization_id = 'org_behind'");
  clock.now += 1;
  expect(await resultOf({ kind: 'start_month', userId: 'usr_a' })).toMatchObject({ started: true });
});

test(
  'the ledgers of all these histories are consistent',
  async () => {
    expect(await verifyAll(credits.store)).toEqual([]);
  },
  limitMs,
);

async function sameAnswers(tenant: Tenant, history: Round[], next: () => Ledgers): Promise<void> {
  const memory = new LedgerInMemory(historyStart + (history[0]?.later ?? 0));
  let now = historyStart;
  for (const { later, operations } of history) {
    now += later;
    credits.clock.now = now;
    const results = await next().commit(tenant, operations);
    expect(results).toEqual(memory.run(now, operations).results);
  }
  expect(await contentsOf(tenant)).toEqual({
    holds: [...memory.holds.values()].map(({ id, state, charge }) => `${id} ${state} ${charge}`).toSorted(),
    transfers: [...memory.transfers.values()].map(({ id, amount }) => `${id} ${amount}`).toSorted(),
    usage: [...memory.usage.values()].map(({ holdId, credits: used }) => `${holdId} ${used}`).toSorted(),
    users: [...memory.users.values()]
      .map(({ userId, balance, onHold, used, carried }) => `${userId} ${balance} ${onHold} ${used} ${carried}`)
      .toSorted(),
    events: memory.events.size,
  });
}

async function contentsOf({ organizationId }: Tenant) {
  const list = async (expression: string, table: string) => {
    const rows = await credits.store.sql<{ line: string }>(`select ${expression} as line from ${table} where organization_id = $1`, [
      organizationId,
    ]);
    return rows.map(({ line }) => line).toSorted();
  };
  const events = await credits.store.sql("select 1 from outbox where topic = 'events' and payload ->> 'organizationId' = $1", [
    organizationId,
  ]);
  return {
    holds: await list("concat_ws(' ', id, state, charge)", 'holds'),
    transfers: await list("concat_ws(' ', id, amount)", 'transfers'),
    usage: await list("concat_ws(' ', hold_id, credits)", 'usage_records'),
    users: await list("concat_ws(' ', user_id, balance, held, used, carried)", 'user_accounts'),
    events: events.length,
  };
}
