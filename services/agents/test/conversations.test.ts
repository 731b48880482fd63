import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createMessagePartitions } from '../src/answers/sweeps.ts';
import { removeDeletedConversation } from '../src/conversations/store/removal.ts';
import { asCaller, type BootedService, boot, createAgent } from './boot.ts';
import { compose } from './compose.ts';
import { StoredConversations } from './stored-conversations.ts';

const start = Date.UTC(2026, 0, 31, 12, 0, 0);
let agents: BootedService;
let agentId: string;
let talk: StoredConversations;
let at = start;

beforeAll(async () => {
  agents = await boot({ now: () => start });
  agentId = await createAgent(agents.gateway);
  talk = new StoredConversations(agents.database, { organizationId: 'org_a', environment: 'live', agentId, userId: 'usr_1' });
});
afterAll(() => agents?.stop());

const next = () => (at += 10);
const strangers = [{ userId: 'usr_2' }, { organizationId: 'org_b' }, { environment: 'test' }] as const;

describe('a conversation', () => {
  test('is read and renamed by its own user only', async () => {
    const conversationId = await talk.begin(next());
    const read = (caller = {}) => asCaller(caller, () => agents.gateway.getConversation({ agentId, conversationId }));
    expect((await read()).conversation).toMatchObject({ id: conversationId, title: '', messageCount: 0 });
    const rename = (title: string, caller = {}) =>
      asCaller(caller, () => agents.gateway.updateConversation({ agentId, conversationId, title }));
    expect((await rename('Sales')).conversation?.title).toBe('Sales');
    expect((await read()).conversation?.title).toBe('Sales');
    for (const stranger of strangers) {
      await expect(read(stranger)).rejects.toMatchObject({ code: 'not_found' });
      await expect(rename('Taken', stranger)).rejects.toMatchObject({ code: 'not_found' });
      await expect(asCaller(stranger, () => agents.gateway.deleteConversation({ agentId, conversationId }))).rejects.toMatchObject({
        code: 'not_found',
      });
    }
    for (const title of ['x'.repeat(201), 'a\0'])
      await expect(rename(title)).rejects.toMatchObject({ code: 'invalid_request', param: 'title' });
    expect((await rename('😀'.repeat(200))).conversation?.title).toHaveLength(400);
    await expect(rename('x', { scopes: ['agents:read'] })).rejects.toMatchObject({ code: 'insufficient_scope' });
    const otherAgent = await createAgent(agents.gateway);
    await expect(asCaller({}, () => agents.gateway.getConversation({ agentId: otherAgent, conversationId }))).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('with a pending answer is not deleted; afterwards it is deleted at once, with its messages and its count', async () => {
    const conversationId = await talk.begin(next());
    const messageId = await talk.exchange(conversationId, next());
    const time = next();
    const pending = await talk.ask(conversationId, time);
    const owner = { organizationId: 'org_a', environment: 'live', agentId } as const;
    const list = () => asCaller({}, () => agents.gateway.listConversations({ agentId }));
    const before = Number((await list()).page?.total);
    const other = { ...owner, userId: 'usr_other' };
    await new StoredConversations(agents.database, other).begin(next());
    const remove = () => asCaller({}, () => agents.gateway.deleteConversation({ agentId, conversationId }));
    await expect(remove()).rejects.toMatchObject({ code: 'conversation_busy' });
    expect((await list()).conversations.map(({ id }) => id)).toContain(conversationId);
    await talk.end(conversationId, pending, time);
    await talk.keepHold(pending);
    await remove();
    const audit = `select payload ->> 'action' as action, payload ->> 'actorId' as actor from outbox where payload ->> 'targetId' = $1`;
    expect((await agents.database.query(audit, [conversationId])).rows).toEqual([{ action: 'conversation.deleted', actor: 'usr_1' }]);
    const after = await list();
    expect(Number(after.page?.total)).toBe(before - 1);
    expect((await asCaller({ userId: other.userId }, () => agents.gateway.listConversations({ agentId }))).page?.total).toBe('1');
    expect(after.conversations.map(({ id }) => id)).not.toContain(conversationId);
    for (const work of [
      () => agents.gateway.getConversation({ agentId, conversationId }),
      () => agents.gateway.listMessages({ agentId, conversationId }),
      () => agents.gateway.getMessage({ agentId, messageId }),
      () => agents.gateway.cancelAnswer({ agentId, messageId }),
      () => agents.gateway.setFeedback({ agentId, messageId, score: 5 }),
      () => agents.gateway.updateConversation({ agentId, conversationId, title: 'x' }),
      () => agents.gateway.deleteConversation({ agentId, conversationId }),
    ])
      await expect(asCaller({}, work)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('feedback', () => {
  test('is stored once for an answer, is replaced, and is part of the message that its user reads', async () => {
    const conversationId = await talk.begin(next());
    const messageId = await talk.exchange(conversationId, next());
    const give = (score: number, comment: string, caller = {}) =>
      asCaller(caller, () => agents.gateway.setFeedback({ agentId, messageId, score, comment }));
    await give(2, 'No.');
    const replaced = await give(5, 'Yes.');
    expect(replaced.feedback).toMatchObject({ messageId, score: 5, comment: 'Yes.' });
    // The same feedback again changes nothing, also not its time.
    expect(await give(5, 'Yes.')).toEqual(replaced);
    const read = await asCaller({}, () => agents.gateway.getMessage({ agentId, messageId }));
    expect(read.feedback).toMatchObject({ score: 5, comment: 'Yes.' });
    const { messages, feedback } = await asCaller({}, () => agents.gateway.listMessages({ agentId, conversationId }));
    expect(feedback).toEqual([read.feedback]);
    for (const stranger of strangers) await expect(give(1, '', stranger)).rejects.toMatchObject({ code: 'not_found' });
    await expect(give(0, '')).rejects.toMatchObject({ code: 'invalid_request', param: 'score' });
    await expect(give(1, 'x'.repeat(2_001))).rejects.toMatchObject({ code: 'invalid_request', param: 'comment' });
    const mine = messages.find(({ role }) => role === 'user')?.id ?? '';
    await expect(asCaller({}, () => agents.gateway.setFeedback({ agentId, messageId: mine, score: 1 }))).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'message_id',
    });
    const pending = await talk.ask(conversationId, next());
    for (const state of ['running', 'waiting']) {
      await agents.database.query('update answers set state = $2 where id = $1', [pending, state]);
      await expect(asCaller({}, () => agents.gateway.setFeedback({ agentId, messageId: pending, score: 1 }))).rejects.toMatchObject({
        code: 'conversation_busy',
      });
    }
    const { rows } = await agents.database.query('select count(*)::integer as count from message_feedback where message_id = $1', [
      messageId,
    ]);
    expect(rows).toEqual([{ count: 1 }]);
  });
});

const quiet = { warn: () => undefined };

test('deleted conversations are removed in bounded steps, and a long or unfinished one delays no other', async () => {
  const { store, database, stop } = await compose();
  try {
    await createMessagePartitions(store).ensure(start);
    const stored = new StoredConversations(database, { organizationId: 'org_a', environment: 'live', agentId: 'agt_1', userId: 'usr_1' });
    const [kept, long, unfinished, short] = [
      await stored.begin(start),
      await stored.begin(start),
      await stored.begin(start),
      await stored.begin(start),
    ];
    for (const id of [kept, short]) await stored.exchange(id, start + (id === kept ? 10 : 20));
    await stored.ask(unfinished, start + 30);
    await database.query(
      `insert into messages (organization_id, environment, id, created_at, conversation_id, agent_id, user_id, role, content, status)
       select 'org_a', 'live', $1 || '_' || n, $2::timestamptz + n * interval '20 ms', $1, 'agt_1', 'usr_1', 'user', 'words', 'completed'
       from generate_series(1, 4500) as n`,
      [long, new Date(start).toISOString()],
    );
    await database.query('update conversations set message_count = 4500 where id = $1', [long]);
    await database.query(`insert into message_feedback select 'org_a', 'live', 'msg_1', $1, 'usr_1', 5, '', now()`, [short]);
    await database.query('update conversations set deleted_at = now() where id <> $1', [kept]);
    expect(await removeDeletedConversation(store, quiet)).toBe(0);
    const left = async () =>
      (await database.query<{ id: string }>('select id from conversations order by id')).rows.map(({ id }) => id).sort();
    let most = 0;
    for (let steps = 0; (await removeDeletedConversation(store, quiet, 0)) > 0; steps += 1) {
      const { rows } = await database.query<{ count: number }>(
        'select count(*)::integer as count from messages where conversation_id = $1',
        [long],
      );
      most = Math.max(most, rows[0]?.count ?? 0);
      expect(steps).toBeLessThan(10);
    }
    expect(most).toBeGreaterThanOrEqual(500);
    expect(await left()).toEqual([kept, unfinished].sort());
    const { rows } = await database.query('select distinct conversation_id from messages order by 1');
    expect(rows.map(({ conversation_id }) => conversation_id).sort()).toEqual([kept, unfinished].sort());
    expect((await database.query('select 1 from message_feedback')).rowCount).toBe(0);
  } finally {
    await stop();
  }
});
