import type { Sql } from '@agent-service/store';
import { countLockWaits, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { removeDeletedAgents } from '../src/agents/store/deleted-agents.ts';
import { createMessagePartitions } from '../src/answers/sweeps.ts';
import { findFeedback, replaceFeedback } from '../src/conversations/store/feedback.ts';
import { maxMessagesPerStep, removeDeletedConversation } from '../src/conversations/store/removal.ts';
import { asCaller, type BootedService, boot, createAgent } from './boot.ts';
import { type Composition, compose } from './compose.ts';
import { StoredConversations } from './stored-conversations.ts';

const start = Date.UTC(2026, 0, 31, 23, 59, 0);
const quiet = { warn: () => undefined };
let agents: BootedService;

beforeAll(async () => {
  agents = await boot({ now: () => start });
});
afterAll(() => agents.stop());

async function remains(agentId: string): Promise<Record<string, number>> {
  const { rows } = await agents.database.query<Record<string, string>>(
    `select (select count(*) from conversations where agent_id = $1) as conversations,
       (select count(*) from messages where agent_id = $1) as messages,
       (select count(*) from conversation_counts where agent_id = $1) as counts,
       (select count(*) from deleted_agents where id = $1) as deleted`,
    [agentId],
  );
  return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, count]) => [name, Number(count)]));
}

const nothing = { conversations: 0, messages: 0, counts: 0, deleted: 0 };
const ownerOf = (agentId: string, userId: string) => ({ organizationId: 'org_a', environment: 'live' as const, agentId, userId });

/** Deleted agents, by the seconds for which each is due. */
async function addDeletedAgents(database: Composition['database'], ages: Readonly<Record<string, number>>): Promise<void> {
  const statement = `insert into deleted_agents (organization_id, environment, id, deleted_at, due)
    values ('org_a', 'live', $1, now(), now() - $2 * interval '1 second')`;
  for (const [id, age] of Object.entries(ages)) await database.query(statement, [id, age]);
}

test('conversations and messages of a deleted agent go, those of others stay', async () => {
  const [gone, kept] = [await createAgent(agents.gateway), await createAgent(agents.gateway)];
  for (const agentId of [gone, kept]) {
    for (const user of ['usr_1', 'usr_2']) {
      const talk = new StoredConversations(agents.database, ownerOf(agentId, user));
      for (let n = 0; n < 3; n += 1) await talk.exchange(await talk.begin(start + n), start + n + 1);
    }
  }
  const before = await remains(kept);
  await asCaller({}, () => agents.gateway.deleteAgent({ agentId: gone }));
  await until(async () => (await remains(gone))['deleted'] === 0);
  expect(await remains(gone)).toEqual(nothing);
  expect(await remains(kept)).toEqual(before);
});

test('an agent that leaves much goes in bounded steps, a long conversation bit by bit', async () => {
  const { store, database, stop } = await compose();
  try {
    await createMessagePartitions(store).ensure(start);
    const owner = ownerOf('agt_1', 'usr_1');
    const long = await new StoredConversations(database, owner).begin(start);
    await database.query(
      `insert into messages (organization_id, environment, id, created_at, conversation_id, agent_id, user_id, role, content, status)
       select 'org_a', 'live', $1 || '_' || n, $2::timestamptz + n * interval '20 ms', $1, 'agt_1', 'usr_1', 'user', 'words', 'completed'
       from generate_series(1, 4500) as n`,
      [long, new Date(start).toISOString()],
    );
    await database.query('update conversations set message_count = 4500');
    const short = new StoredConversations(database, ownerOf('agt_1', 'usr_2'));
    for (let n = 0; n < 250; n += 1) await short.begin(start + n);
    await database.query(
      `insert into conversation_counts (organization_id, environment, agent_id, user_id, count)
       select 'org_a', 'live', 'agt_1', 'usr_of_' || n, 0 from generate_series(1, 4500) as n`,
    );
    await database.query(
      "insert into deleted_agents (organization_id, environment, id, deleted_at) values ('org_a', 'live', 'agt_1', now())",
    );
    const sizes: number[] = [];
    while ((await removeDeletedAgents(store, quiet)) > 0) {
      const { rows } = await database.query<{ rest: string }>(
        `select (select count(*) from messages) + (select count(*) from conversations) + (select count(*) from conversation_counts) as rest`,
      );
      sizes.push(Number(rows[0]?.rest));
    }
    const steps = sizes.map((size, n) => (sizes[n - 1] ?? 9_252) - size);
    expect(Math.max(...steps)).toBeLessThanOrEqual(2_201);
    expect(sizes.at(-1)).toBe(0);
    const { rows } = await database.query('select 1 from conversation_counts union all select 1 from deleted_agents');
    expect(rows).toEqual([]);
  } finally {
    await stop();
  }
});

test('an agent that leaves much delays no other deleted agent', async () => {
  const { store, database, stop } = await compose();
  try {
    await createMessagePartitions(store).ensure(start);
    const long = await new StoredConversations(database, ownerOf('agt_large', 'usr_1')).begin(start);
    await database.query(
      `insert into messages (organization_id, environment, id, created_at, conversation_id, agent_id, user_id, role, content, status)
       select 'org_a', 'live', $1 || '_' || n, $2::timestamptz + n * interval '20 ms', $1, 'agt_large', 'usr_1', 'user', 'words', 'completed'
       from generate_series(1, $3::integer) as n`,
      [long, new Date(start).toISOString(), 5 * maxMessagesPerStep],
    );
    await database.query('update conversations set message_count = $1', [5 * maxMessagesPerStep]);
    await new StoredConversations(database, ownerOf('agt_small', 'usr_1')).begin(start);
    await addDeletedAgents(database, { agt_large: 60, agt_small: 59 });
    const agents = async () => (await database.query<{ id: string }>('select id from deleted_agents order by id')).rows.map(({ id }) => id);
    // One of the large agent, one for the conversation of the small one, one of the large agent, and one for the small one itself.
    for (let steps = 0; steps < 4; steps += 1) await removeDeletedAgents(store, quiet);
    expect(await agents()).toEqual(['agt_large']);
    while ((await removeDeletedAgents(store, quiet)) > 0);
    expect(await agents()).toEqual([]);
    expect((await database.query('select 1 from messages union all select 1 from conversations')).rows).toEqual([]);
  } finally {
    await stop();
  }
});

test('deletion waits for pending answers, and then removes everything', async () => {
  const agentId = await createAgent(agents.gateway);
  const talk = new StoredConversations(agents.database, ownerOf(agentId, 'usr_1'));
  const conversationId = await talk.begin(start);
  // A result that is being paid for is not ended by the deletion.
  const answer = await talk.ask(conversationId, start + 10, 'settling');
  const other = await createAgent(agents.gateway);
  await asCaller({}, () => agents.gateway.deleteAgent({ agentId }));
  const { rows } = await agents.database.query<{ id: string }>('select id from messages where agent_id = $1', [agentId]);
  for (const messageId of [answer, ...rows.map(({ id }) => id)])
    await expect(asCaller({}, () => agents.gateway.getMessage({ agentId, messageId }))).rejects.toMatchObject({ code: 'not_found' });
  await asCaller({}, () => agents.gateway.deleteAgent({ agentId: other }));
  await until(async () => (await remains(other))['deleted'] === 0);
  expect(await remains(agentId)).toEqual({ conversations: 1, messages: 1, counts: 1, deleted: 1 });
  await talk.end(conversationId, answer, start + 10);
  await until(async () => (await remains(agentId))['deleted'] === 0);
  expect(await remains(agentId)).toEqual(nothing);
});

test('feedback that meets the removal of its conversation leaves no row behind', async () => {
  const { store, database, databaseUrl, stop } = await compose();
  try {
    await createMessagePartitions(store).ensure(start);
    const tenant = { organizationId: 'org_a', environment: 'live' } as const;
    const talk = new StoredConversations(database, ownerOf('agt_1', 'usr_1'));
    const exchange = async () => {
      const conversationId = await talk.begin(start);
      const feedback = {
        messageId: await talk.exchange(conversationId, start + 10),
        conversationId,
        userId: 'usr_1',
        score: 5,
        comment: '',
      };
      await database.query(
        // Its default for "due" is rounded, and may be after the next statement.
        `insert into deleted_agents (organization_id, environment, id, deleted_at, due)
           values ('org_a', 'live', 'agt_1', now(), now() - interval '1 second') on conflict do nothing`,
      );
      return feedback;
    };
    const removeAll = async () => {
      while ((await removeDeletedAgents(store, quiet)) > 0);
    };
    const before = await exchange();
    const session = await database.connect();
    try {
      await session.query('begin');
      const sql = (async (text, values = []) => (await session.query(text, [...values])).rows) as Sql;
      expect(await replaceFeedback(sql, tenant, before)).toMatchObject({ score: 5 });
      const removal = removeAll();
      await Promise.race([removal, until('the removal waits', async () => (await countLockWaits(databaseUrl)) > 0)]);
      await session.query('commit');
      await removal;
    } finally {
      session.release();
    }
    const after = await exchange();
    await removeAll();
    expect(await replaceFeedback(store.sql, tenant, after)).toBeUndefined();
    expect(await findFeedback(store.sql, tenant, [before.messageId, after.messageId])).toEqual([]);
  } finally {
    await stop();
  }
});

test('an agent whose answers are unfinished delays no other agent, and its finished conversations are removed', async () => {
  const { store, database, stop } = await compose();
  try {
    await createMessagePartitions(store).ensure(start);
    const [busy, other] = [
      new StoredConversations(database, ownerOf('agt_busy', 'usr_1')),
      new StoredConversations(database, ownerOf('agt_other', 'usr_1')),
    ];
    const unfinished = await busy.begin(start);
    const answer = await busy.ask(unfinished, start + 10, 'settling');
    await busy.exchange(await busy.begin(start + 1), start + 20);
    await other.exchange(await other.begin(start), start + 10);
    await addDeletedAgents(database, { agt_busy: 2, agt_other: 1 });
    const conversations = async () => (await database.query<{ id: string }>('select id from conversations')).rows.map(({ id }) => id);
    while ((await removeDeletedAgents(store, quiet)) > 0);
    expect(await conversations()).toEqual([unfinished]);
    await busy.end(unfinished, answer, start + 10);
    expect(await removeDeletedAgents(store, quiet)).toBe(0);
    await database.query("update deleted_agents set due = now() - interval '1 second'");
    while ((await removeDeletedAgents(store, quiet)) > 0);
    expect(await conversations()).toEqual([]);
    expect((await database.query('select 1 from deleted_agents')).rows).toEqual([]);
  } finally {
    await stop();
  }
});

test('a deleted agent or conversation of which another session holds a row locked delays no other', async () => {
  const { store, database, stop } = await compose();
  const locking = await database.connect();
  try {
    await createMessagePartitions(store).ensure(start);
    const begin = async (agentId: string) => {
      const stored = new StoredConversations(database, ownerOf(agentId, 'usr_1'));
      const id = await stored.begin(start);
      await stored.exchange(id, start + 10);
      return id;
    };
    const ofAgents = [await begin('agt_locked'), await begin('agt_free')];
    const deleted = [await begin('agt_kept'), await begin('agt_kept')];
    const past = (second: number) => `now() - interval '${60 - second} seconds'`;
    await addDeletedAgents(database, { agt_locked: 60, agt_free: 59 });
    for (const [index, id] of deleted.entries())
      await database.query(`update conversations set deleted_at = ${past(index)} where id = $1`, [id]);
    await locking.query('begin');
    await locking.query('select 1 from messages where conversation_id = any($1) for update', [[ofAgents[0], deleted[0]]]);
    const warnings: object[] = [];
    const logger = { warn: (event: object) => void warnings.push(event) };
    for (let steps = 0; (await removeDeletedAgents(store, logger)) > 0; steps += 1) expect(steps).toBeLessThan(5);
    for (let steps = 0; (await removeDeletedConversation(store, logger, 0)) > 0; steps += 1) expect(steps).toBeLessThan(5);
    const left = async () => (await database.query<{ id: string }>('select id from conversations')).rows.map(({ id }) => id).sort();
    expect(await left()).toEqual([ofAgents[0], deleted[0]].sort());
    expect(warnings).toMatchObject([
      { event: 'removal_postponed', id: 'agt_locked' },
      { event: 'removal_postponed', id: deleted[0] },
    ]);
    await locking.query('commit');
    await database.query("update deleted_agents set due = now() - interval '1 second'");
    await database.query("update conversations set deleted_at = now() - interval '1 second' where deleted_at is not null");
    while ((await removeDeletedAgents(store, logger)) > 0);
    while ((await removeDeletedConversation(store, logger, 0)) > 0);
    expect(await left()).toEqual([]);
  } finally {
    locking.release();
    await stop();
  }
});
