import { createProcess } from '@agent-service/runtime';
import { migrate, openStore } from '@agent-service/store';
import { testDatabase } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { Client } from 'pg';
import { readCreditsConfig } from '../src/config.ts';
import { dayMs } from '../src/domain/calendar.ts';
import { createLedgers } from '../src/ledger/ledgers.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { settingsFor } from './boot.ts';
import { compose, usage } from './compose.ts';
import { verifyAll } from './verification.ts';

test('a table of transfers with rows becomes a partition, and the next month gets its own', async () => {
  const database = await testDatabase();
  const config = readCreditsConfig(settingsFor(database.url));
  const before = migrations.findIndex(({ name }) => name === '0005-transfer-months');
  await migrate({ url: database.url, schema: 'credits', migrations: migrations.slice(0, before) });
  const tenant = { organizationId: 'org_a', environment: 'live' } as const;
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

const months = 3;
/** LONG_LEDGER=300000 settles so many holds in each month. */
const holdsAMonth = Number(process.env['LONG_LEDGER'] ?? 1_500);
const january = Date.UTC(2026, 0, 10);

test(
  'past months are verified once, and a full verification finds later changes in them',
  async () => {
    const credits = await compose(january);
    const { ledgers, store, clock } = credits;
    const tenant = { organizationId: 'org_long', environment: 'live' } as const;
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
