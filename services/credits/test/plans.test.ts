import { migrate } from '@agent-service/store';
import { type RecordingStore, recordingStore, recordSteps, type StatementRun, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Outcome, UsageRecord } from '../src/domain/state.ts';
import { removeEndedHolds, removeOldOperations, selectAccountsOfPastMonths, selectOverdueHolds } from '../src/store/due.ts';
import { loadState } from '../src/store/load.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { saveOutcome } from '../src/store/save.ts';
import { rollupStatements } from '../src/store/verify/rollups.ts';

const rows = 25_000;
const schema = 'credits';
const now = Date.now();

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: RecordingStore;
let runs = new Map<string, StatementRun[]>();

const account = { organizationId: 'org_1', environment: 'live', userId: 'usr_5', month: 24_000 } as const;

const tenant = { organizationId: 'org_1', environment: 'live' } as const;
const nothing: Outcome = { results: [], ledger: null, users: [], holds: [], remembered: [], transfers: [], usage: [], events: [] };
const used: UsageRecord = {
  holdId: 'msg_1',
  userId: 'usr_5',
  agentId: 'agt_1',
  agentName: 'Sales',
  conversationId: 'conv_1',
  tier: 'Fast',
  credits: 1,
  inputTokens: 1,
  outputTokens: 1,
  querySummary: 'How much?',
  at: now,
};

async function recordUsage(): Promise<void> {
  const loaded = await loadState(store.sql, tenant, []);
  if (!loaded) throw new Error('the ledger is gone');
  await saveOutcome(store.sql, tenant, loaded, { ...nothing, usage: [used] });
}

const steps: Record<string, () => Promise<unknown>> = {
  removeEndedHolds: () => removeEndedHolds(store.sql, now),
  removeOldOperations: () => removeOldOperations(store.sql, now),
  selectAccountsOfPastMonths: () => selectAccountsOfPastMonths(store.sql, 24_300, undefined, 200),
  selectAccountsOfPastMonthsBehind: () => selectAccountsOfPastMonths(store.sql, 24_300, account, 200),
  selectOverdueHolds: () => selectOverdueHolds(store.sql, now, undefined, 500),
  verifySumsOfDay: () => store.sql(rollupStatements.sumsOfDay, ['org_1', 'live', '2026-01-02', '2026-01-03', 100]),
  recordUsage,
  selectOverdueHoldsBehind: () => selectOverdueHolds(store.sql, now, [1_000_000, 'org_1', 'live', 'open_5'], 500),
};

const ledger = `insert into ledgers (organization_id, environment, auto_replenish, replenish_threshold, replenish_amount, default_monthly_limit, updated_at)
   values ('org_1', 'live', false, 0, 1, 0, now())`;
const grow = [
  `insert into user_accounts (organization_id, environment, user_id, balance, held, monthly_limit, carried, used, rollover, month, effective_from, updated_at)
   select 'org_1', 'live', 'usr_' || n, 0, 0, 0, 0, 0, false, 24000, now(), now() from generate_series(1, ${rows}) n`,
  `insert into holds (organization_id, environment, id, user_id, amount, deadline, state, charge, created_at, ended_at)
   select 'org_1', 'live', 'ended_' || n, 'usr_1', 1, to_timestamp(0), 'released', 0, to_timestamp(0), to_timestamp(0) from generate_series(1, ${rows}) n`,
  `insert into holds (organization_id, environment, id, user_id, amount, deadline, state, charge, created_at)
   select 'org_1', 'live', 'open_' || n, 'usr_1', 1, to_timestamp(n), 'open', 0, to_timestamp(0) from generate_series(1, ${rows}) n`,
  `insert into usage_by_user_agent (organization_id, environment, user_id, agent_id, tier, day, credits, queries, credits_total, queries_total)
   select 'org_1', 'live', 'usr_' || n, 'agt_1', 'Fast', date '2026-01-01', 1, 1, 1, 1 from generate_series(1, ${rows}) n`,
  `insert into usage_users select 'org_1', 'live', 'usr_' || n, date '2026-01-01', date '2026-01-01', 1, 1 from generate_series(6, ${rows}) n`,
  `insert into usage_user_agents select 'org_1', 'live', 'usr_' || n, 'agt_1', date '2026-01-01', date '2026-01-01' from generate_series(6, ${rows}) n`,
  `insert into operations select 'org_1', 'live', 'op_' || n, 1, '{"kind":"allocate"}', to_timestamp(0) from generate_series(1, ${rows}) n`,
];

beforeAll(async () => {
  database = await testDatabase();
  await migrate({ url: database.url, schema, migrations });
  store = await recordingStore(database.url, schema);
  await store.sql('create table usage_records_of_all_months partition of usage_records for values from (minvalue) to (maxvalue)');
  await store.sql(ledger);
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
