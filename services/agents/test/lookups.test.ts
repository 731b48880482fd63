import type { Sql } from '@agent-service/store';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { PoolClient } from 'pg';
import { countStatements } from '../src/agents/store/agents.ts';
import { createMessagePartitions } from '../src/answers/sweeps.ts';
import { conversationStatements, findConversation, renameConversation } from '../src/conversations/store/conversations.ts';
import { findMessage, selectMessages } from '../src/conversations/store/messages.ts';
import { removalStatements } from '../src/conversations/store/removal.ts';
import { loadStepScope, lockStepScope } from '../src/data-sources/store/steps.ts';
import { type Composition, compose } from './compose.ts';
import { messageId } from './stored-conversations.ts';

const now = Date.UTC(2026, 0, 15, 12);
const tenant = { organizationId: 'org_a', environment: 'live' } as const;
const reader = { tenant, agentId: 'agt_1', userId: 'usr_1' };
const id = messageId(now);
const attempt = { ...tenant, id: 'msg_1', attempt: 1 };
const moved = JSON.stringify([{ category: 'c1', status: 'active', by: -1 }]);

/** Each reads a few rows of a tenant with many. */
const lookups: Record<string, (sql: Sql) => Promise<unknown>> = {
  'the message of a reader': (sql) => findMessage(sql, reader, id),
  'the messages of a conversation': (sql) => selectMessages(sql, reader, 'conv_7', 20),
  'a conversation': (sql) => findConversation(sql, reader, 'conv_7'),
  'a conversation to rename': (sql) => renameConversation(sql, reader, 'conv_7', 'Sales'),
  'a conversation to delete': (sql) => sql(conversationStatements.markDeleted, ['org_a', 'live', 'conv_7', 'agt_1', 'usr_1']),
  'a deleted conversation': (sql) => sql(removalStatements.findDeletedConversation, [0]),
  'the scope of a step': (sql) => loadStepScope(sql, attempt),
  'the scope of a change': (sql) => lockStepScope(sql, attempt),
  'the counter of a category that has no agents': (sql) => sql(countStatements.forgetEmpty, ['org_a', 'live', moved]),
};

const tables = ['agents', 'agent_category_counts', 'answers', 'conversations'];
const rows = 25_000;
const grow = [
  `insert into agents (organization_id, environment, id, name, status, system_prompt, created_by, version, created_at, updated_at,
     folded_name, folded_description, grams)
   select 'org_a', 'live', 'agt_' || n, 'Sales', 'active', 'Be brief.', 'usr_1', 1, now(), now(), 'sales', '', '{}'
   from generate_series(1, ${rows}) n`,
  `insert into agent_category_counts (organization_id, environment, category, status, count)
   select 'org_a', 'live', 'c' || n, 'active', 1 from generate_series(1, ${rows}) n`,
  `insert into conversations (organization_id, environment, id, agent_id, user_id, message_count, created_at, last_message_at, deleted_at)
   select 'org_a', 'live', 'conv_' || n, 'agt_1', 'usr_1', 2, now(), now() - n * interval '1 second', case when n = 1 then now() end from generate_series(1, ${rows}) n`,
  `insert into answers (organization_id, environment, id, state, due, agent_id, conversation_id, user_id, attempt, accepted_at, deadline)
   select 'org_a', 'live', 'msg_' || n, 'running', now(), 'agt_' || n, 'conv_' || n, 'usr_1', 1, now(), now() from generate_series(8, ${rows}) n`,
  `insert into answers (organization_id, environment, id, state, due, agent_id, conversation_id, user_id, attempt, accepted_at, deadline)
   values ('org_a', 'live', 'msg_1', 'running', now(), 'agt_7777', 'conv_1', 'usr_1', 1, now(), now())`,
  `insert into messages (organization_id, environment, id, created_at, conversation_id, agent_id, user_id, role, content, status)
   values ('org_a', 'live', '${id}', '${new Date(now).toISOString()}', 'conv_7', 'agt_1', 'usr_1', 'assistant', 'Three.', 'completed')`,
];

interface Prepared {
  readonly name: string;
  readonly values: string;
}

let agents: Composition;
let client: PoolClient;
const prepared = new Map<string, Prepared>();

const literal = (value: unknown) => `'${String(value).replaceAll("'", "''")}'`;
const run = ({ name, values }: Prepared, options = '') =>
  client.query<Record<string, string>>(`explain ${options} execute "${name}"(${values})`);

beforeAll(async () => {
  // Databases beside it that change their tables would make every plan again, with the sizes of that time.
  agents = await compose({ ownServer: true });
  await createMessagePartitions(agents.store).ensure(now);
  client = await agents.database.connect();
  await client.query('set plan_cache_mode = force_generic_plan; set random_page_cost = 1.1; set jit = off');
  for (const table of tables) await client.query(`alter table ${table} set (autovacuum_enabled = false)`);
  for (const [name, ask] of Object.entries(lookups)) {
    await ask(async <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
      await client.query(`prepare "${name}" as ${text}`);
      prepared.set(name, { name, values: values.map(literal).join(', ') });
      await run({ name, values: values.map(literal).join(', ') });
      return [];
    });
  }
  for (const statement of grow) await client.query(statement);
});
afterAll(async () => {
  client.release(true);
  await agents.stop();
});

/** The pages that the statement reads. */
async function pagesRead(name: string): Promise<number> {
  await client.query('begin');
  const { rows: lines } = await run(prepared.get(name) as Prepared, '(analyze, buffers, timing off, summary off)');
  await client.query('rollback');
  const text = lines.map((line) => Object.values(line).join('')).join('\n');
  expect(text).toContain('Buffers:');
  const [, counts = ''] = /Buffers: shared(.*)/.exec(text) ?? [];
  return [...counts.matchAll(/(?:hit|read)=(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
}

test.each(Object.keys(lookups))(
  `%s: a key finds it among ${rows}, although the statement was planned while the tables were empty`,
  async (name) => {
    expect(await pagesRead(name)).toBeLessThan(60);
  },
);
