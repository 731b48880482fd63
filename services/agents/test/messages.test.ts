import { until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { asCaller, type BootedService, boot, createAgent } from './boot.ts';
import { messageId, StoredConversations } from './stored-conversations.ts';

// The last minute of a month, so that conversations reach over two partitions.
const start = Date.UTC(2026, 0, 31, 23, 59, 0);
const clock = { now: start };
let agents: BootedService;
let agentId: string;

beforeAll(async () => {
  agents = await boot({ now: () => clock.now });
  agentId = await createAgent(agents.gateway);
});
afterAll(() => agents.stop());

const talkOf = (userId: string, more: object = {}) =>
  new StoredConversations(agents.database, { organizationId: 'org_a', environment: 'live', agentId, userId, ...more });

const conversations = (userId: string, page: { limit?: number; cursor?: string } = {}, caller = {}) =>
  asCaller({ userId, ...caller }, () => agents.gateway.listConversations({ agentId, page }));
const messages = (userId: string, conversationId: string, page: { limit?: number; cursor?: string } = {}, caller = {}) =>
  asCaller({ userId, ...caller }, () => agents.gateway.listMessages({ agentId, conversationId, page }));
const message = (userId: string, messageId: string, caller = {}, agent = agentId) =>
  asCaller({ userId, ...caller }, () => agents.gateway.getMessage({ agentId: agent, messageId }));

const at = (minute: number) => start + minute * 10_000;

test("a user's conversations, the latest message first, page by page, with their total", async () => {
  const [mine, other] = [talkOf('usr_pages'), talkOf('usr_other')];
  const ids: string[] = [];
  for (let n = 0; n < 7; n += 1) ids.push(await mine.begin(at(n)));
  await other.begin(at(9));
  // The second gets another exchange and so goes to the front.
  await mine.exchange(ids[1] as string, at(20));
  const order = [ids[1], ...ids.filter((_, n) => n !== 1).reverse()];
  const listedIds: string[] = [];
  let cursor = '';
  do {
    const { conversations: listed, page } = await conversations('usr_pages', { limit: 3, cursor });
    expect(page?.total).toBe('7');
    listedIds.push(...listed.map(({ id }) => id));
    cursor = page?.nextCursor ?? '';
  } while (cursor !== '');
  expect(listedIds).toEqual(order);
  expect((await conversations('usr_pages', { limit: 1 })).conversations[0]).toEqual({
    id: ids[1],
    agentId,
    title: '',
    messageCount: 2,
    totalCredits: '0',
    createdAt: new Date(at(1)).toISOString(),
    lastMessageAt: new Date(at(20)).toISOString(),
  });
  expect(await conversations('usr_silent')).toEqual({ conversations: [], page: { total: '0', nextCursor: '' } });
});

test('messages newest first over the turn of a month, questions and answers, page by page', async () => {
  const talk = talkOf('usr_month');
  const id = await talk.begin(at(0));
  const answers: string[] = [];
  for (let n = 0; n < 8; n += 1) answers.push(await talk.exchange(id, at(n + 1)));
  const contents = Array.from({ length: 8 }, (_, n) => [`answer of ${at(8 - n)}`, `question of ${at(8 - n)}`]).flat();
  for (const limit of [1, 5, 16, 100]) {
    const listedContents: string[] = [];
    let cursor = '';
    do {
      const { messages: listed, page } = await messages('usr_month', id, { limit, cursor });
      expect(page?.total).toBe('16');
      listedContents.push(...listed.map(({ content }) => content));
      cursor = page?.nextCursor ?? '';
    } while (cursor !== '');
    expect(listedContents).toEqual(contents);
  }
  expect((await message('usr_month', answers[7] as string)).message).toMatchObject({
    content: contents[0],
    createdAt: new Date(at(8)).toISOString(),
  });
});

test.each([
  // The longest answer that a model may give, two bytes a character.
  ['contents', `content = repeat('é', 1000000)`],
  [
    'statements',
    `queries = jsonb_build_array(jsonb_build_object('statement', repeat('x', 2000000), 'tables', '[]'::jsonb, 'rows', 0, 'durationMs', 1))`,
  ],
])('messages with long %s come in shorter pages, which one reply can carry, and none is left out', async (what, change) => {
  const user = `usr_long_${what}`;
  const talk = talkOf(user);
  const id = await talk.begin(at(0));
  for (let n = 0; n < 5; n += 1) await talk.exchange(id, at(n + 1));
  await agents.database.query(`update messages set ${change} where conversation_id = $1 and role = 'assistant'`, [id]);
  const pages: string[][] = [];
  let cursor = '';
  do {
    const { messages: listed, page } = await messages(user, id, { limit: 100, cursor });
    pages.push(listed.map(({ role }) => role));
    cursor = page?.nextCursor ?? '';
  } while (cursor !== '');
  const [answer, question] = ['assistant', 'user'];
  expect(pages).toEqual([
    [answer, question, answer],
    [question, answer, question, answer],
    [question, answer, question],
  ]);
});

test('a message has its role, its status and its queries', async () => {
  const talk = talkOf('usr_shapes');
  const id = await talk.begin(at(0));
  const first = await talk.exchange(id, at(1));
  const failed = await talk.ask(id, at(2));
  await talk.end(id, failed, at(2), 'failed');
  await talk.keepHold(failed);
  expect((await messages('usr_shapes', id)).messages).toHaveLength(4);
  const [answer, question] = [(await messages('usr_shapes', id)).messages[2], (await messages('usr_shapes', id)).messages[3]];
  expect(answer).toEqual({
    id: first,
    conversationId: id,
    agentId,
    role: 'assistant',
    content: `answer of ${at(1)}`,
    contentType: 'markdown',
    creditsConsumed: 3,
    modelUsed: 'Smart',
    createdAt: new Date(at(1)).toISOString(),
    status: 'completed',
    failure: null,
    queries: [{ statement: 'select 1', tables: ['orders'], rows: 1, durationMs: 2 }],
    record: null,
  });
  expect(question).toMatchObject({
    role: 'user',
    contentType: 'text',
    content: `question of ${at(1)}`,
    creditsConsumed: 0,
    modelUsed: '',
    status: 'completed',
  });
  expect((await message('usr_shapes', failed)).message).toMatchObject({
    status: 'failed',
    creditsConsumed: 0,
    failure: { code: 'provider_error' },
  });
  expect((await message('usr_shapes', question?.id ?? '')).message).toEqual(question);
});

test('an answer in plain text is read as such, alone and in its conversation', async () => {
  const talk = talkOf('usr_plain');
  const id = await talk.begin(at(0));
  const answer = await talk.exchange(id, at(1));
  await agents.database.query("update messages set content_type = 'text' where id = $1", [answer]);
  expect((await message('usr_plain', answer)).message).toMatchObject({ role: 'assistant', contentType: 'text' });
  expect((await messages('usr_plain', id)).messages.map(({ contentType }) => contentType)).toEqual(['text', 'text']);
});

test.each([
  ['waiting', 'queued'],
  ['dispatched', 'queued'],
  ['running', 'running'],
  ['settling', 'running'],
] as const)('an answer that is %s is listed and read as %s', async (state, status) => {
  const user = `usr_${state}`;
  const talk = talkOf(user);
  const id = await talk.begin(at(0));
  const pending = await talk.ask(id, at(1), state);
  const { messages: listed, page } = await messages(user, id);
  expect([listed.map((one) => [one.id, one.status]), page?.total]).toEqual([
    [
      [pending, status],
      [expect.any(String), 'completed'],
    ],
    '2',
  ]);
  expect((await message(user, pending)).message).toEqual(listed[0]);
});

test('an answer that ends while it is read is in one list only, whenever that is', async () => {
  const talk = talkOf('usr_race');
  const id = await talk.begin(at(0));
  let ended = 0;
  for (let n = 1; n <= 25; n += 1) {
    const answer = await talk.ask(id, at(n));
    const reads = Array.from({ length: 6 }, async () => {
      const [{ messages: listed, page }, read] = [await messages('usr_race', id, { limit: 4 }), await message('usr_race', answer)];
      expect(listed.filter((one) => one.id === answer)).toHaveLength(1);
      expect(page?.total).toBe(String(n * 2));
      if (read.message?.status === 'completed') ended += 1;
    });
    await Promise.all([...reads, talk.end(id, answer, at(n))]);
  }
  expect(ended).toBeGreaterThan(0);
});

test('conversations and messages of another user, agent, environment or organization are not found', async () => {
  const talk = talkOf('usr_private');
  const id = await talk.begin(at(0));
  const answerId = await talk.exchange(id, at(1));
  const pending = await talk.ask(id, at(2));
  const strangers = [{ userId: 'usr_other' }, { organizationId: 'org_b' }, { environment: 'test' as const }];
  for (const stranger of strangers) {
    await expect(messages('usr_private', id, {}, stranger)).rejects.toMatchObject({ code: 'not_found' });
    for (const one of [answerId, pending]) await expect(message('usr_private', one, stranger)).rejects.toMatchObject({ code: 'not_found' });
  }
  const another = await createAgent(agents.gateway);
  for (const one of [answerId, pending])
    await expect(message('usr_private', one, {}, another)).rejects.toMatchObject({ code: 'not_found' });
  await expect(
    asCaller({ userId: 'usr_private' }, () => agents.gateway.listMessages({ agentId: another, conversationId: id })),
  ).rejects.toMatchObject({
    code: 'not_found',
  });
  expect((await conversations('usr_other', {}, {})).conversations.map((one) => one.id)).not.toContain(id);
  const times = [`msg_7${'z'.repeat(25)}`, `msg_${'0'.repeat(26)}`];
  for (const garbage of [
    ...times,
    '',
    'msg_',
    'msg_zzzzzzzzzzzzzzzzzzzzzzzzzz',
    `${answerId}x`,
    answerId.toUpperCase(),
    "'; drop table messages; --",
  ]) {
    await expect(message('usr_private', garbage)).rejects.toMatchObject({ code: 'not_found' });
  }
});

test('cursors of conversations and messages are refused by other lists', async () => {
  const talk = talkOf('usr_cursors');
  const [one, other] = [await talk.begin(at(0)), await talk.begin(at(1))];
  for (let n = 2; n < 5; n += 1) for (const id of [one, other]) await talk.exchange(id, at(n));
  const ofMessages = (await messages('usr_cursors', one, { limit: 2 })).page?.nextCursor ?? '';
  const ofConversations = (await conversations('usr_cursors', { limit: 1 })).page?.nextCursor ?? '';
  await expect(messages('usr_cursors', other, { cursor: ofMessages })).rejects.toMatchObject({ code: 'invalid_cursor' });
  await expect(messages('usr_cursors', one, { cursor: ofConversations })).rejects.toMatchObject({ code: 'invalid_cursor' });
  await expect(conversations('usr_cursors', { cursor: ofMessages })).rejects.toMatchObject({ code: 'invalid_cursor' });
  await expect(conversations('usr_other', { cursor: ofConversations })).rejects.toMatchObject({ code: 'invalid_cursor' });
  await expect(conversations('usr_cursors', { cursor: `${ofConversations}A` })).rejects.toMatchObject({ code: 'invalid_cursor' });
});

async function refusalOf(more: { answerId?: string; agentId?: string }) {
  const principal = { organizationId: 'org_a', environment: 'live', userId: 'usr_1', scopes: ['agents:chat'] };
  const item = { principal, agentId, answerId: messageId(clock.now), message: 'How many?', ...more };
  const { results } = await asCaller({}, () => agents.gateway.startAnswer({ items: [item] }));
  return results[0]?.refusal;
}

test('an id from a wrong clock is no error of the caller', async () => {
  for (const off of [-61_000, 61_000]) expect((await refusalOf({ answerId: messageId(clock.now + off) }))?.code).toBe('unavailable');
  expect((await refusalOf({ answerId: 'msg_none' }))?.code).toBe('invalid_request');
});

test('a message to an id of any length that names no agent is refused for the agent', async () => {
  for (const id of ['agt_none', 'x'.repeat(129), 'x'.repeat(8_000)])
    expect(await refusalOf({ agentId: id })).toMatchObject({ code: 'not_found', param: 'agent_id' });
});

test('records are read 50 at a time: more are refused, and an id without a record has none', async () => {
  const items = Array.from({ length: 51 }, () => ({ organizationId: 'org_a', environment: 'live', answerId: messageId(start) }));
  await expect(agents.gateway.readRecords({ items })).rejects.toMatchObject({ code: 'invalid_request', param: 'items' });
  const { results } = await agents.gateway.readRecords({ items: items.slice(1) });
  expect(results).toEqual(items.slice(1).map(() => ({ record: null })));
});

test('messages are stored again a moment after a machine has slept for months', async () => {
  clock.now = Date.UTC(2026, 5, 15);
  const talk = talkOf('usr_awake');
  const id = await talk.begin(clock.now);
  await until('a message is stored', () => talk.ask(id, clock.now).then(() => true));
  expect((await messages('usr_awake', id)).messages[1]).toMatchObject({ content: `question of ${clock.now}` });
});
