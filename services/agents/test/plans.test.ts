import type { Sql } from '@agent-service/store';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { PoolClient } from 'pg';
import { selectAgents } from '../src/agents/store/list-agents.ts';
import { acceptMessages, attachChannels, loadKeys, loadSituations, removeExpiredKeysOf } from '../src/answers/store/accept.ts';
import { beginAnswers, findUnended, renewLeases } from '../src/answers/store/attempts.ts';
import { dispatchNext, redispatchUnbegun } from '../src/answers/store/dispatch.ts';
import { endCharged, endUncharged, loadStatuses, lockChanges, removeReleased, storeResults } from '../src/answers/store/end.ts';
import { findInDeletedConversations, readAnswers } from '../src/answers/store/read.ts';
import { loadHistories } from '../src/answers/store/sql.ts';
import { createMessagePartitions } from '../src/answers/sweeps.ts';
import { findMessage, selectMessages } from '../src/conversations/store/messages.ts';
import { type Composition, compose } from './compose.ts';

const now = Date.UTC(2026, 0, 15, 12);
const tenant = { organizationId: 'org_a', environment: 'live' } as const;
const id = `msg_${'1'.repeat(26)}`;
const key = { ...tenant, id };
const message = {
  ...key,
  agentId: 'agt_1',
  conversationId: 'conv_1',
  userId: 'usr_1',
  acceptedAt: now,
  text: 'How many?',
  contextJson: '',
  replyChannel: 'replies:1',
  stream: false,
  idempotencyScope: 'scope',
  idempotencyFingerprint: 'a',
  requestId: 'req_1',
  traceparent: '',
  callerExpiresAt: 0,
  isCallerDisconnected: () => false,
};
const candidate = { ...key, message, tier: 'Fast', deadline: now + 300_000, conversationId: 'conv_1' };
const uncharged = { ...key, createdAt: now, status: 'failed', content: '', failure: { code: '', message: '' }, attempt: null } as const;
const reader = { tenant, agentId: 'agt_1', userId: 'usr_1' };
const filter = { tenant, category: undefined, status: '', search: '' };

/** Tables whose rows are looked up or changed by key. */
const statements: Record<string, (sql: Sql) => Promise<unknown>> = {
  findMessage: (sql) => findMessage(sql, reader, id),
  selectMessages: (sql) => selectMessages(sql, reader, 'conv_1', 20),
  loadSituations: (sql) => loadSituations(sql, [{ ...message, idempotencyScope: '' }]),
  loadKeys: (sql) => loadKeys(sql, [{ ...message, n: 0 }]),
  removeExpiredKeysOf: (sql) => removeExpiredKeysOf(sql, [message], now),
  acceptMessages: (sql) => acceptMessages(sql, [candidate], { inFlight: 50, waiting: 100 }, now),
  attachChannels: (sql) => attachChannels(sql, [message]),
  findInDeletedConversations: (sql) => findInDeletedConversations(sql, [message]),
  readAnswers: (sql) => readAnswers(sql, [{ ...key, createdAt: now }]),
  beginAnswers: (sql) => beginAnswers(sql, [{ ...key, claim: 'c', workerChannel: 'worker:1' }], now),
  findUnended: (sql) => findUnended(sql, [key]),
  renewLeases: (sql) => renewLeases(sql, [{ ...key, attempt: 1 }], now),
  storeResults: (sql) =>
    storeResults(
      sql,
      [
        {
          ...key,
          attempt: 1,
          content: '',
          contentType: 'markdown',
          inputTokens: 1,
          outputTokens: 1,
          queries: [],
          record: null,
          refused: false,
        },
      ],
      now,
    ),
  loadStatuses: (sql) => loadStatuses(sql, [{ ...key, createdAt: now }]),
  endCharged: (sql) => endCharged(sql, [{ ...key, createdAt: now, credits: 1, event: null }]),
  lockChanges: (sql) => lockChanges(sql, [key]),
  endUncharged: (sql) => endUncharged(sql, [uncharged], now),
  redispatchUnbegun: (sql) => redispatchUnbegun(sql, [{ ...key, dispatches: 1 }], now),
  dispatchNext: (sql) => dispatchNext(sql, [tenant], { inFlight: 50, workerChannels: ['worker:1'] }, now),
  removeReleased: (sql) => removeReleased(sql, [key], now),
  loadHistories: (sql) => loadHistories(sql, [{ ...key, conversationId: 'conv_1', continues: true }]),
};
const lists: Record<string, Partial<typeof filter>> = {
  agents_listed_index: {},
  agents_status_index: { status: 'active' },
  agents_category_hash_index: { category: 'sales' as never },
  agents_category_hash_status_index: { category: 'sales' as never, status: 'active' },
};

/** These read the pending answer of a conversation. */
const byConversation = ['loadSituations', 'selectMessages'];

const grown = ['agents', 'answers', 'answer_lines', 'conversations', 'answer_keys'];
const grow = [
  `insert into agents (organization_id, environment, id, name, description, category, status, model, system_prompt, tables, read_only,
     default_format, chart_enabled, welcome_message, suggested_prompts, created_by, version, created_at, updated_at, folded_name,
     folded_description, grams)
   select 'org_a', 'live', 'agt_' || n, 'Sales', '', 'sales', 'active', 'Fast', 'Be brief.', '{orders}', true, 'markdown', false, '', '{}',
     'usr_1', 1, now(), now(), 'sales', '', '{}' from generate_series(1, 20000) n`,
  `insert into conversations (organization_id, environment, id, agent_id, user_id, message_count, created_at, last_message_at)
   select 'org_a', 'live', 'conv_' || n, 'agt_1', 'usr_1', 2, now(), now() from generate_series(1, 20000) n`,
  `insert into answers (organization_id, environment, id, state, due, conversation_id, accepted_at, deadline)
   select 'org_a', 'live', 'msg_' || n, 'running', now(), 'conv_' || n, now(), now() from generate_series(1, 20000) n`,
  `insert into answer_keys select 'org_a', 'live', 'scope' || n, '', '', now() from generate_series(1, 20000) n`,
];

let agents: Composition;
let client: PoolClient;
const plans = new Map<string, string>();

/** The generic plan of a statement, which PostgreSQL keeps for all parameters. */
async function explain(name: string): Promise<string> {
  const [text, values] = prepared.get(name) as [string, string];
  const { rows } = await client.query<Record<string, string>>(`explain execute "${name}"${values === '' ? '' : `(${values})`}`);
  return `${text}\n${rows.map((row) => Object.values(row).join('')).join('\n')}`;
}

const prepared = new Map<string, [string, string]>();
const literal = (value: unknown) => `'${(Array.isArray(value) ? `{${value.join(',')}}` : String(value)).replaceAll("'", "''")}'`;

async function prepare(name: string, ask: (sql: Sql) => Promise<unknown>): Promise<void> {
  await ask(async <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
    await client.query(`prepare "${name}" as ${text}`);
    prepared.set(name, [text, values.map(literal).join(', ')]);
    return [{} as Row];
  });
  await explain(name);
}

beforeAll(async () => {
  // Databases beside it that change their tables fill the queue of a server's invalidations, and then every plan is made again, with the sizes of that time.
  agents = await compose({ ownServer: true });
  await createMessagePartitions(agents.store).ensure(now);
  for (const table of grown) await agents.database.query(`alter table ${table} set (autovacuum_enabled = false)`);
  client = await agents.database.connect();
  await client.query('set plan_cache_mode = force_generic_plan; set random_page_cost = 1.1; set jit = off');
  for (const [name, ask] of Object.entries(statements)) await prepare(name, ask);
  for (const [name, more] of Object.entries(lists)) await prepare(name, (sql) => selectAgents(sql, { ...filter, ...more }, 20));
  for (const statement of grow) await client.query(statement);
  for (const name of prepared.keys()) plans.set(name, await explain(name));
});
afterAll(async () => {
  client.release(true);
  await agents.stop();
});

test.each(Object.keys(statements))('%s uses a key, although it was planned while the tables were empty', (name) => {
  const plan = plans.get(name) ?? '';
  expect(plan).not.toMatch(new RegExp(`Seq Scan on (${grown.join('|')})\\b`));
  expect(plan).not.toMatch(/agents_(listed|status|category)/);
  expect(plan).not.toContain('answers_state_due_index');
  if (!byConversation.includes(name)) expect(plan).not.toContain('answers_conversation_index');
  else expect(plan).toMatch(/answers_conversation_index.*\n\s+Index Cond: .*conversation_id/);
});

test.each(Object.keys(lists))('a list uses the index %s, in its order', (name) => {
  expect(plans.get(name)).toContain(`Index Scan using ${name} on agents`);
  expect(plans.get(name)).not.toMatch(/Seq Scan on agents|agents_pkey/);
});
