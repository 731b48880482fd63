import { createProcess } from '@agent-service/runtime';
import { migrate, openStore, type Store } from '@agent-service/store';
import { testDatabase } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { Client } from 'pg';
import { readCreditsConfig } from '../src/config.ts';
import { dayMs } from '../src/domain/calendar.ts';
import { createLedgers } from '../src/ledger/ledgers.ts';
import { verifyStep } from '../src/ledger/verify.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { settingsFor } from './boot.ts';
import { type Composition, compose, usage } from './compose.ts';
import { verifyAll } from './verification.ts';

test('a table of transfers with rows becomes a partition, and the next month gets its own', async () => {
  const database = await testDatabase();
  const config = readCreditsConfig(settingsFor(database.url));
  const before = migrations.findIndex(({ name }) => name === '0005-transfer-months');
  await migrate({ url: database.url, schema: 'credits', migrations: migrations.slice(0, before) });
  let now = Date.now();
  const running = await createProcess('credits', config, async (process) => {
    const store = await openStore(process, config, { schema: 'credits', entities: [] });
    return { store };
  });
  const { store } = running.started;
  const ledgersNow = () => createLedgers({ store, now: () => now, events: false });
  await store.sql('create table usage_records_here partition of usage_records default');
  const partitions = { ensure: async () => undefined, ensureCurrent: async () => undefined };
  await createLedgers({ store, partitions, now: () => now, events: false }).commit(tenant, [
    { kind: 'grant', id: 'g', amount: 1_000 },
    { kind: 'hold', id: 'h1', userId: 'usr_a', amount: 5, deadline: now },
  ]);
  await store.sql('drop table usage_records_here');
  const insertTransfers = (organizationId: string, count: number) =>
    store.sql(
      `insert into transfers (organization_id, environment, id, code, amount, at)
       select $1, 'live', 'old ' || number, 'purchase', 1, now() from generate_series(1, $2::int) as number`,
      [organizationId, count],
    );
  await insertTransfers('org_large', 60_000);
  const reader = new Client({ connectionString: database.url });
  await reader.connect();
  await reader.query('begin; select 1 from credits.transfers limit 1');
  const migrating = migrate({ url: database.url, schema: 'credits', migrations, lockLimitMs: 50 });
  // Writers are not blocked while the step waits for the reader.
  for (let number = 0; number < 10; number += 1) await insertTransfers(`org_${number}`, 1);
  await reader.end();
  expect(await migrating).toEqual(migrations.slice(before).map(({ name }) => name));
  expect(await store.sql("select inhrelid::regclass::text as name from pg_inherits where inhparent = 'transfers_pkey'::regclass")).toEqual([
    { name: 'transfers_months_pkey' },
  ]);
  await ledgersNow().commit(tenant, [{ kind: 'hold', id: 'h2', userId: 'usr_a', amount: 5, deadline: now }]);
  now += 32 * dayMs;
  await ledgersNow().commit(tenant, [{ kind: 'hold', id: 'h3', userId: 'usr_a', amount: 5, deadline: now }]);
  const counts = await store.sql<{ count: string }>('select count(*) from transfers group by tableoid order by min(at)');
  expect(counts.map(({ count }) => Number(count))).toEqual([60_014, expect.any(Number)]);
  await store.sql('alter table transfers disable trigger transfers_append_only');
  await store.sql("delete from transfers where id like 'old %'");
  await store.sql('alter table transfers enable trigger transfers_append_only');
  for (const change of ['update transfers set amount = 1', 'delete from transfers', 'truncate transfers'])
    await expect(store.sql(change)).rejects.toThrow('append-only');
  expect(await verifyAll(store)).toEqual([]);
  await running.stop();
  await database.drop();
});

const tenant = { organizationId: 'org_a', environment: 'live' } as const;
const january = Date.UTC(2026, 0, 10);

/** Two users with charges of 3 and 5 in January, whose February has started. */
async function composePastMonth(): Promise<Composition> {
  const credits = await compose(january);
  await credits.ledgers.commit(tenant, [
    { kind: 'grant', id: 'g', amount: 100_000 },
    { kind: 'hold', id: 'h3', userId: 'usr_3', amount: 9, deadline: january },
    { kind: 'hold', id: 'h5', userId: 'usr_5', amount: 9, deadline: january },
  ]);
  await credits.ledgers.commit(tenant, [
    { kind: 'settle', id: 'h3', amount: 3, usage },
    { kind: 'settle', id: 'h5', amount: 5, usage },
  ]);
  credits.clock.now = Date.UTC(2026, 1, 10);
  await credits.ledgers.commit(tenant, [
    { kind: 'hold', id: 'h6', userId: 'usr_3', amount: 9, deadline: january },
    { kind: 'start_month', userId: 'usr_5' },
  ]);
  return credits;
}

const faultsOf = async (store: Store, isFull = false) =>
  (await verifyAll(store, isFull)).map(({ account, equation }) => `${account}: ${equation}`);

test('a month is proven only with balances that come out right, so that a fault ends with its repair', async () => {
  const { store, stop } = await composePastMonth();
  const provenMonths = () => store.sql("select month - 2026 * 12 as month from proven_months where user_id = ''");
  await store.sql('alter table transfers disable trigger transfers_append_only');
  await store.sql("update transfers set amount = amount + 1 where code = 'charge' and user_id = 'usr_3'");
  const faults = ['usr_3 (2026-01): charges = usage records of the user', 'usr_3: held = its transfers', 'ledger: spent = its transfers'];
  expect(await faultsOf(store)).toEqual(faults);
  expect(await faultsOf(store)).toEqual(faults);
  expect(await provenMonths()).toEqual([]);
  await store.sql("update transfers set amount = amount - 1 where code = 'charge' and user_id = 'usr_3'");
  expect(await faultsOf(store)).toEqual([]);
  expect(await provenMonths()).toEqual([{ month: 0 }]);
  await stop();
});

test('a month that ends during a verification is not proven by it, as its last rows were not compared with the rollups', async () => {
  const { store, stop, ledgers, clock } = await compose(january);
  await ledgers.commit(tenant, [
    { kind: 'grant', id: 'g', amount: 100_000 },
    { kind: 'hold', id: 'h3', userId: 'usr_3', amount: 9, deadline: january },
  ]);
  const first = await verifyStep(store, '', undefined);
  await ledgers.commit(tenant, [{ kind: 'settle', id: 'h3', amount: 3, usage }]);
  await store.sql('update usage_by_tier set credits = credits + 1, credits_total = credits_total + 1');
  clock.now = Date.UTC(2026, 1, 10);
  await ledgers.commit(tenant, [{ kind: 'start_month', userId: 'usr_3' }]);
  for (let step = first; step; step = await verifyStep(store, '', step.progress)) expect(step.faults).toEqual([]);
  expect(await faultsOf(store)).toContain('usage_by_tier Fast 2026-01-10 (2026-01): credits = usage records');
  expect(await store.sql('select from proven_months')).toEqual([]);
  await stop();
});

test('months are proven one by one, and an account may still be in one of them', async () => {
  const { store, stop, ledgers, clock } = await composePastMonth();
  await ledgers.commit(tenant, [{ kind: 'settle', id: 'h6', amount: 2, usage }]);
  clock.now = Date.UTC(2026, 2, 10);
  await ledgers.commit(tenant, [{ kind: 'start_month', userId: 'usr_5' }]);
  const provenAfter: number[] = [];
  for (let step = await verifyStep(store, '', undefined); step; step = await verifyStep(store, '', step.progress)) {
    expect(step.faults).toEqual([]);
    provenAfter.push((await store.sql("select from proven_months where user_id = ''")).length);
  }
  expect(provenAfter).toEqual([0, 0, 0, 0, 1, 2]);
  expect(await faultsOf(store)).toEqual([]);
  await store.sql("update proven_months set spent = spent + 1 where user_id = 'usr_3'");
  await faultsOf(store, true);
  expect(await faultsOf(store, true)).toEqual([]);
  await stop();
});

test('wrong sums of a proven month are reported until a full verification, with whose sums the balances come out right', async () => {
  const { store, stop } = await composePastMonth();
  expect(await faultsOf(store)).toEqual([]);
  await store.sql("update proven_months set spent = spent + 1 where user_id = 'usr_3'");
  expect(await faultsOf(store)).toEqual(['ledger: spent = its transfers']);
  expect(await faultsOf(store)).toEqual(['ledger: spent = its transfers']);
  expect(await faultsOf(store, true)).toEqual(['usr_3 (2026-01): spent of the month = as proven', 'ledger: spent = its transfers']);
  expect(await faultsOf(store, true)).toEqual([]);
  expect(await faultsOf(store)).toEqual([]);
  await stop();
});

test('usage of a past month that was moved from one user to another is reported', async () => {
  const { store, stop } = await composePastMonth();
  const move = async () => {
    await store.sql('update usage_records set credits = 8 - credits');
    await store.sql('update usage_users set credits_total = 8 - credits_total');
    for (const table of ['usage_by_user', 'usage_by_user_agent', 'usage_user_days'])
      await store.sql(`update ${table} set credits = 8 - credits, credits_total = 8 - credits_total`);
  };
  const charges = ['usr_3', 'usr_5'].map((userId) => `${userId} (2026-01): charges = usage records of the user`);
  const used = ['usr_3', 'usr_5'].map((userId) => `${userId} (2026-01): used of the month = as proven`);
  await move();
  expect((await faultsOf(store)).sort()).toEqual(charges);
  await move();
  expect(await faultsOf(store)).toEqual([]);
  await move();
  expect((await faultsOf(store, true)).sort()).toEqual([...charges, ...used].sort());
  await stop();
});

const months = 3;
/** LONG_LEDGER=300000 settles so many holds in each month. */
const holdsAMonth = Number(process.env['LONG_LEDGER'] ?? 1_500);
test(
  'past months are verified once, and a full verification finds later changes in them',
  async () => {
    const credits = await compose(january);
    const { ledgers, store, clock } = credits;
    await ledgers.commit(tenant, [{ kind: 'grant', id: 'g', amount: 1_000_000_000 }]);
    const batch = 1_000;
    for (let month = 0; month < months; month += 1) {
      clock.now = Date.UTC(2026, month, 10);
      for (let first = 0; first < holdsAMonth; first += batch) {
        const ids = Array.from({ length: Math.min(batch, holdsAMonth - first) }, (_, n) => `m${month}_${first + n}`);
        const userId = `usr_${(first / batch) % 7}`;
        await ledgers.commit(tenant, [
          { kind: 'allocate', id: `a${month}_${first}`, userId, monthlyLimit: 10_000_000, rollover: true },
          ...ids.map((id) => ({ kind: 'hold' as const, id, userId, amount: 4, deadline: clock.now })),
        ]);
        await ledgers.commit(
          tenant,
          ids.map((id) => ({ kind: 'settle' as const, id, amount: 3, usage })),
        );
      }
    }
    expect(await verifyAll(store)).toEqual([]);
    const stored = await store.sql<{ month: number }>("select month from proven_months where user_id = '' order by month");
    expect(stored.map(({ month }) => month - 2026 * 12)).toEqual([0, 1]);
    expect(await verifyAll(store)).toEqual([]);
    expect(await verifyAll(store, true)).toEqual([]);

    await store.sql('alter table transfers disable trigger transfers_append_only');
    await store.sql(
      "update transfers set amount = amount + 1 where id in (select id from transfers where code = 'fill' order by at limit 1)",
    );
    expect(await verifyAll(store)).toEqual([]);
    expect((await verifyAll(store, true)).map(({ account, equation }) => `${account}: ${equation}`)).toEqual([
      'usr_0 (2026-01): balance of the month = as proven',
      'usr_0 (2026-01): pool of the month = as proven',
    ]);
    await store.sql("update proven_months set spent = spent + 1 where user_id = 'usr_1' and month = 2026 * 12 + 1");
    expect((await verifyAll(store)).map(({ account, equation }) => `${account}: ${equation}`)).toEqual(['ledger: spent = its transfers']);
    await credits.stop();
  },
  60_000 + holdsAMonth * months * 4,
);
