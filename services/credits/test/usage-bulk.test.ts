import { createProcess } from '@agent-service/runtime';
import { openStore, type Store } from '@agent-service/store';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Pool } from 'pg';
import type { Outcome, UsageRecord } from '../src/domain/state.ts';
import { addLedger, loadState } from '../src/store/load.ts';
import { saveOutcome } from '../src/store/save.ts';
import { type BootedService, boot } from './boot.ts';
import { type BulkUsage, loadBulk } from './usage-bulk.ts';
import { query } from './verification.ts';

let credits: BootedService;
let pool: Pool;
beforeAll(async () => {
  credits = await boot();
  pool = new Pool({ connectionString: credits.url, options: '-c search_path=credits -c timezone=UTC' });
});
afterAll(async () => {
  await pool.end();
  await credits.stop();
});

const bulk: BulkUsage = {
  organizationId: 'org_bulk',
  records: 500,
  users: 6,
  agents: 5,
  agentsOfUser: 3,
  firstDay: '2026-01-20',
  days: 40,
  querySummary: 'How much?',
};

const tables = [
  'usage_by_tier',
  'usage_by_user',
  'usage_by_agent',
  'usage_by_user_agent',
  'usage_user_days',
  'usage_users',
  'usage_agents',
  'usage_user_agents',
  'usage_unique_users',
];

const rowsOf = async (table: string, organizationId: string) =>
  (
    await query<{ line: string }>(
      credits.url,
      `select (to_jsonb(kept) - 'organization_id')::text as line from ${table} as kept where organization_id = $1 order by 1`,
      [organizationId],
    )
  ).map(({ line }) => line);

interface StoredRecord {
  at: Date;
  hold_id: string;
  user_id: string;
  agent_id: string;
  agent_name: string;
  conversation_id: string;
  tier: string;
  credits: number;
}

const toRecord = (row: StoredRecord): UsageRecord => ({
  at: row.at.getTime(),
  holdId: row.hold_id,
  userId: row.user_id,
  agentId: row.agent_id,
  agentName: row.agent_name,
  conversationId: row.conversation_id,
  tier: row.tier,
  credits: row.credits,
  inputTokens: 200,
  outputTokens: 100,
  querySummary: 'How much?',
});

const nothing: Outcome = { results: [], ledger: null, users: [], holds: [], remembered: [], transfers: [], usage: [], events: [] };

test('bulk loading makes the same rollups as settling the same records one by one', async () => {
  await loadBulk(pool, bulk);
  const stored = await query<StoredRecord>(credits.url, "select * from usage_records where organization_id = 'org_bulk' order by at, id");
  expect(stored).toHaveLength(bulk.records);
  const running = await createProcess('writer', credits.config, (process) =>
    openStore(process, credits.config, { schema: 'credits', entities: [] }),
  );
  const store: Store = running.started;
  const tenant = { organizationId: 'org_written', environment: 'live' } as const;
  await addLedger(store.sql, tenant, Date.now());
  for (const record of stored.map(toRecord)) {
    const loaded = await loadState(store.sql, tenant, []);
    if (!loaded) throw new Error('the ledger is gone');
    expect(await saveOutcome(store.sql, tenant, loaded, { ...nothing, usage: [record] })).not.toBe(loaded.stamp);
  }
  await running.stop();
  for (const table of tables) {
    const written = await rowsOf(table, 'org_written');
    expect([table, written.length > 0]).toEqual([table, true]);
    expect([table, await rowsOf(table, 'org_bulk')]).toEqual([table, written]);
  }
});
