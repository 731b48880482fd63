import { type RecordingStore, recordingStore, recordSteps, type StatementRun, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweepIdempotency } from '../src/idempotency.ts';
import { deadLettersTable, idempotencyTable, migrate, migration, outboxTable } from '../src/index.ts';
import { claimMessages, extendClaims, releaseClaims, removeMessages, setMessageAside } from '../src/outbox/relay-store.ts';

const rows = 25_000;
const schema = 'plans';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: RecordingStore;
let runs = new Map<string, StatementRun[]>();

const ids = Array.from({ length: 200 }, (_, n) => `id_${n * 7 + 1}`);
const limits = { topic: 'audit', claimMs: 1_000, maxMessages: 200, maxBytes: 1_000_000 };

const steps: Record<string, () => Promise<unknown>> = {
  sweepIdempotency: () => sweepIdempotency(store.sql),
  claimAny: () => claimMessages(store.sql, { ...limits, tenants: { after: '', except: [] } }),
  claimAnyExcept: () => claimMessages(store.sql, { ...limits, tenants: { after: '', except: ['busy'] } }),
  claimOne: () => claimMessages(store.sql, { ...limits, tenants: { only: 'org_7' } }),
  extendClaims: () => extendClaims(store.sql, ids, 1_000),
  releaseClaims: () => releaseClaims(store.sql, ids),
  removeMessages: () => removeMessages(store.sql, ids.slice(0, 100)),
  setMessageAside: () => setMessageAside(store.sql, ids.at(-1) ?? '', 1, 'refused'),
};

const grow = [
  `insert into idempotency_records (scope, fingerprint, response, created_at) select 's' || n, '', '{}', to_timestamp(0) from generate_series(1, ${rows}) n`,
  `insert into outbox (id, topic, payload) select 'id_' || n, 'audit', jsonb_build_object('organizationId', 'org_' || n % 1000) from generate_series(1, ${rows}) n`,
  `insert into outbox (id, topic, payload) select 'busy_' || n, 'audit', '{"organizationId": "busy"}' from generate_series(1, ${rows}) n`,
  `insert into outbox (id, topic, payload) select 'other_' || n, 'events', '{}' from generate_series(1, ${rows}) n`,
  `insert into dead_letters (id, topic, organization_id, payload, bytes, attempts, reason, created_at)
   select 'id_' || n, 'audit', 'org_1', '{}', 2, 1, '', now() from generate_series(${rows} + 1, 2 * ${rows}) n`,
];

beforeAll(async () => {
  database = await testDatabase();
  await migrate({ url: database.url, schema, migrations: [migration('1', idempotencyTable, outboxTable, deadLettersTable)] });
  store = await recordingStore(database.url, schema);
  runs = await recordSteps(store, schema, { steps, grow });
});
afterAll(async () => {
  await store?.end();
  await database?.drop();
});

test.each(Object.keys(steps))(
  '%s reads a bounded number of rows of 25,000, planned while the tables were empty or with statistics',
  (name) => {
    for (const { statement, rowsRead, plan } of runs.get(name) ?? [])
      if (rowsRead > 5_000) throw new Error(`${rowsRead} rows\n${statement}\n${plan}`);
    expect(runs.get(name)?.length).toBeGreaterThan(1);
  },
);
