import type { ErrorCode } from '@agent-service/contracts';
import { until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { expectError } from './support/envelope.ts';
import { ask } from './support/http.ts';
import { type MessageWorld, never, path, startMessageWorld, token } from './support/message-world.ts';

let world: MessageWorld;
beforeAll(async () => {
  world = await startMessageWorld();
});
afterAll(() => world?.stop());
afterEach(() => world.reset());

describe('a message that is refused', () => {
  test.each<[ErrorCode, number]>([
    ['not_found', 404],
    ['agent_not_active', 409],
    ['conversation_busy', 409],
    ['idempotency_key_reused', 422],
    ['invalid_request', 400],
  ])('as %s is a %i', async (code, status) => {
    world.peer.agents.start = () => ({ refusal: { code } });
    expectError(await world.post(), status, code);
  });

  test('for its conversation names that, or says that the conversation of its Idempotency-Key was deleted', async () => {
    world.peer.agents.start = () => ({ refusal: { code: 'not_found', param: 'conversation_id' } });
    const named = await world.post({ message: 'x', conversation_id: 'conv_gone' });
    expectError(named, 404, 'not_found');
    expect(named.body.error).toMatchObject({ param: 'conversation_id', message: expect.stringContaining('no conversation conv_gone') });
    const unnamed = await world.post({ message: 'x' });
    expectError(unnamed, 404, 'not_found');
    expect(unnamed.body.error).toMatchObject({ param: null, message: expect.stringContaining('conversation that has been deleted') });
  });

  const short = { required: 4, available: 3 };

  test.each([
    // Also from a service of the release before, which names no limit.
    [{ code: 'credits_exhausted', ...short }, short],
    [{ code: 'user_limit_reached', ...short }, short],
    [
      { code: 'user_limit_reached', ...short, monthlyLimit: 500, usedThisMonth: 490 },
      { ...short, monthly_limit: 500, used_this_month: 490 },
    ],
    [
      { code: 'user_limit_reached', ...short, monthlyLimit: 500, usedThisMonth: 797, carriedOver: 300 },
      { ...short, monthly_limit: 500, used_this_month: 797, carried_over: 300 },
    ],
  ] as const)('as %j is a 402 with what is needed and left, and with the limit of a user', async (refusal, details) => {
    world.peer.agents.start = () => ({ refusal });
    const answer = await world.post();
    expectError(answer, 402, refusal.code);
    expect(answer.body.error.details).toEqual(details);
  });

  test.each([
    [0, "3 are left of the user's monthly limit of 500, of which 497 are used."],
    [300, "3 are left of the user's monthly limit of 500 and 300 carried over, of which 797 are used."],
  ])('for the limit of a user with %i credits carried over names figures that add up', async (carriedOver, text) => {
    const limit = { monthlyLimit: 500, usedThisMonth: 497 + carriedOver, ...(carriedOver > 0 && { carriedOver }) };
    world.peer.agents.start = () => ({ refusal: { code: 'user_limit_reached', ...short, ...limit } });
    expect((await world.post()).body.error.message).toContain(text);
  });

  test.each<[ErrorCode, number]>([
    ['too_many_waiting', 429],
    ['unavailable', 503],
    ['deadline_exceeded', 503],
  ])('as %s is a %i with Retry-After', async (code, status) => {
    world.peer.agents.start = () => ({ refusal: { code } });
    const answer = await world.post();
    expectError(answer, status, code);
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  test('affects no other message of its batch', async () => {
    world.answering();
    const accept = world.peer.agents.start;
    world.peer.agents.start = (item) => (item.message === 'bad' ? { refusal: { code: 'agent_not_active' } } : accept(item));
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => world.post({ message: index % 3 === 0 ? 'bad' : 'good' })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, index) => (index % 3 === 0 ? 409 : 200)));
  });

  test('while agents is unavailable is a 503 with Retry-After', async () => {
    await world.peer.stopAgents();
    try {
      const answer = await world.post();
      expectError(answer, 503, 'unavailable');
      expect(answer.headers.get('retry-after')).toBe('1');
    } finally {
      await world.peer.startAgents();
    }
    await until(async () => (await ask(world.gateways[0].url, '/readyz')).status === 200);
  });

  const nested = (depth: number): object => (depth === 1 ? {} : { a: nested(depth - 1) });
  const contextOf = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });
  test.each([
    ['message', {}],
    ['message', { message: '' }],
    ['message', { message: 'x'.repeat(32_001) }],
    ['message', { message: 'a\0' }],
    ['message', { message: ['a'] }],
    ['message', { message: null }],
    ['conversation_id', { message: 'x', conversation_id: '' }],
    ['conversation_id', { message: 'x', conversation_id: null }],
    ['context', { message: 'x', context: 'page' }],
    ['context', { message: 'x', context: [] }],
    ['context', { message: 'x', context: nested(6) }],
    ['context', { message: 'x', context: { a: [[[[[]]]]] } }],
    ['context', { message: 'x', context: contextOf(16_385) }],
    ['context.a', { message: 'x', context: { a: '\ud800' } }],
    ['stream', { message: 'x', stream: true }],
  ])('for a bad %s is a 400: %#', async (param, json) => {
    world.peer.agents.start = never;
    const answer = await world.post(json);
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe(param);
  });

  const postContext = (context: string) => {
    const headers = { 'content-type': 'application/json' };
    return ask(world.gateways[0].url, path, { method: 'POST', token, headers, body: `{"message":"x","context":${context}}` });
  };

  test.each([
    ['{"n":1e999}', 'as large as 1e309'],
    ['{"a":[{"b":-1e999}]}', 'as large as 1e309'],
    ['{"order_id":1234567890123456789}', 'send them as text'],
    ['{"a":[{"b":-9007199254740993}]}', 'send them as text'],
    ['{"n":1e300}', 'send them as text'],
  ])('for numbers out of range is a 400: %s', async (context, why) => {
    world.peer.agents.start = never;
    const answer = await postContext(context);
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error).toMatchObject({ param: 'context', message: expect.stringContaining(why) });
  });

  test('but not for numbers that keep their value', async () => {
    const items = world.answering();
    const context = '{"a":9007199254740991,"b":[-9007199254740991,0.5]}';
    expect((await postContext(context)).status).toBe(200);
    expect(items.map(({ contextJson }) => contextJson)).toEqual([context]);
  });

  test('only beyond the limits: messages at the limits are accepted', async () => {
    world.answering();
    expect((await world.post({ message: '\u{1F600}'.repeat(32_000), context: nested(5) })).status).toBe(200);
    expect((await world.post({ message: 'x', context: contextOf(16_384) })).status).toBe(200);
  });
});
