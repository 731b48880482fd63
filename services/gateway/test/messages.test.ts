import { type ErrorCode, errorCodes } from '@agent-service/contracts';
import { ownRedis, testRedis } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import {
  agent,
  answerMessage,
  pending,
  type ReplySender,
  replySender,
  type StartItem,
  started,
  usualAgents,
} from './support/agents-peer.ts';
import { expectError } from './support/envelope.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { type Answer, ask } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';
import { until } from './support/until.ts';

const token = apiKey('m');
const path = '/v1/agents/agt_1/messages';
/** The wait limit of the second gateway; the first waits longer. */
const waitSeconds = 2;

const unlimited = { RATE_LIMIT_MESSAGES_PER_MINUTE: '100000' };

let peer: Peer;
let gateways: [Gateway, Gateway];
let replies: ReplySender;
let redisUrl: string;
beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [token]: caller('m') });
  redisUrl = (await testRedis()).url;
  gateways = [
    await startGateway(peer, redisUrl, unlimited),
    await startGateway(peer, redisUrl, { ...unlimited, ANSWER_WAIT_SECONDS: String(waitSeconds) }),
  ];
  replies = await replySender(redisUrl);
});
afterAll(async () => {
  await replies.stop();
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await peer.stop();
});
afterEach(() => void Object.assign(peer.agents, usualAgents()));

const post = (
  json: object = { message: 'How much?' },
  headers: Record<string, string> = {},
  gateway: Gateway = gateways[0],
): Promise<Answer> => ask(gateway.url, path, { method: 'POST', token, json, headers });

const waitedFor = async ({ process }: Gateway) => {
  const metric = process.metrics.registry.getSingleMetric('answers_waited_for');
  return (await metric?.get())?.values[0]?.value;
};

const never = () => {
  throw new Error('nothing was lost, so nothing is to be read back');
};

/** Accepts every message and has its answer published; what was accepted is kept. */
function answering(reply: (item: StartItem) => ReturnType<typeof answerMessage> = ({ answerId }) => answerMessage(answerId)): StartItem[] {
  const items: StartItem[] = [];
  peer.agents.start = (item) => {
    items.push(item);
    setImmediate(() => replies.send(item.replyChannel, { kind: 'ended', id: item.answerId, message: reply(item) }));
    return started(item.answerId);
  };
  peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
  return items;
}

describe('a message that is waited for', () => {
  test('is answered with exactly the stated fields and the status', async () => {
    const items = answering();
    peer.agents.read = never;
    const { status, body, headers } = await post();
    expect(status).toBe(200);
    expect(body).toEqual({
      data: {
        id: items[0]?.answerId,
        conversation_id: 'conv_1',
        role: 'assistant',
        content: 'You sold 120 orders.',
        content_type: 'markdown',
        credits_consumed: 2,
        model_used: 'Fast',
        created_at: agent.createdAt,
        status: 'completed',
      },
    });
    expect(headers.get('idempotent-replayed')).toBeNull();
  });

  test('carries text where it is not to be rendered', async () => {
    answering(({ answerId }) => answerMessage(answerId, { contentType: 'text' }));
    expect((await post()).body.data.content_type).toBe('text');
  });

  test('carries its queries when it has any', async () => {
    const queries = [{ statement: 'select 1', tables: ['orders'], rows: 1, durationMs: 12 }];
    answering(({ answerId }) => answerMessage(answerId, { queries }));
    expect((await post()).body.data.queries).toEqual([{ statement: 'select 1', tables: ['orders'], rows: 1, duration_ms: 12 }]);
  });

  test('goes to agents with all that an answer needs', async () => {
    const items = answering();
    const context = { page: 'orders', record: { id: 7 } };
    const headers = { 'x-request-id': 'req-1', 'idempotency-key': 'k-1' };
    await post({ message: 'How much?', conversation_id: 'conv_1', context }, headers);
    expect(items).toEqual([
      {
        principal: {
          organizationId: 'org_m',
          environment: 'live',
          userId: 'usr_m',
          credentialId: 'key_m',
          scopes: expect.any(Array),
          admin: true,
          role: '',
        },
        answerId: expect.stringMatching(/^msg_[0-9a-z]{26}$/),
        agentId: 'agt_1',
        conversationId: 'conv_1',
        message: 'How much?',
        contextJson: JSON.stringify(context),
        replyChannel: expect.stringMatching(/replies/),
        stream: false,
        idempotencyScope: `org_m live key_m POST ${path} k-1`,
        idempotencyFingerprint: expect.stringMatching(/^[\w-]{43}$/),
        requestId: 'req-1',
        traceparent: '',
        timeLeftMs: expect.any(Number),
      },
    ]);
    await post();
    expect(items[1]).toMatchObject({ conversationId: '', contextJson: '', idempotencyScope: '', idempotencyFingerprint: '' });
  });

  test('is answered even if its answer comes before the word that it was accepted', async () => {
    peer.agents.start = async ({ answerId, replyChannel }) => {
      replies.send(replyChannel, { kind: 'ended', id: answerId, message: answerMessage(answerId) });
      await new Promise((resolve) => setTimeout(resolve, 50));
      return started(answerId);
    };
    peer.agents.read = never;
    expect((await post()).status).toBe(200);
  });

  test('costs a second more when its reply is lost', async () => {
    const began = performance.now();
    expect((await post()).status).toBe(200);
    expect(performance.now() - began).toBeGreaterThan(900);
  });

  test('ignores replies that come twice, late, out of order or for no waiting request', async () => {
    peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
    const channels = new Set<string>();
    peer.agents.start = ({ answerId, replyChannel }) => {
      channels.add(replyChannel);
      const end = { kind: 'ended' as const, id: answerId, message: answerMessage(answerId) };
      const delta = { kind: 'delta' as const, id: answerId, attempt: 1, text: 'x' };
      setImmediate(() => replies.send(replyChannel, delta, { ...end, id: 'msg_nobody' }, end, end, delta));
      return started(answerId);
    };
    const ids = (await Promise.all(Array.from({ length: 20 }, () => post()))).map(({ body }) => body.data.id);
    expect(new Set(ids).size).toBe(20);
    for (const channel of channels) replies.send(channel, ...ids.map((id) => ({ kind: 'ended' as const, id, message: answerMessage(id) })));
    answering();
    expect((await post()).status).toBe(200);
  });

  test('is a 504 with its ids when the wait is over, while the work goes on', async () => {
    const items: StartItem[] = [];
    peer.agents.start = (item) => {
      items.push(item);
      return started(item.answerId);
    };
    peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
    const began = performance.now();
    const answer = await post(undefined, {}, gateways[1]);
    expectError(answer, 504, 'answer_timeout');
    expect(answer.body.error.details).toEqual({ message_id: items[0]?.answerId, conversation_id: 'conv_1', status: 'running' });
    expect(performance.now() - began).toBeGreaterThan(waitSeconds * 1_000 - 100);
  });

  test.each<[ErrorCode, number]>([
    ['provider_error', 502],
    ['agent_deleted', 404],
    ['internal', 500],
  ])('that failed as %s is a %i with its ids', async (code, status) => {
    const items = answering(({ answerId }) =>
      answerMessage(answerId, { status: 'failed', creditsConsumed: 0, failure: { code, message: '' } }),
    );
    const answer = await post();
    expectError(answer, status, code);
    expect(answer.body.error.details).toEqual({ message_id: items[0]?.answerId, conversation_id: 'conv_1' });
    expect(answer.body.error.message).toBe(errorCodes[code].message);
  });

  test.each(['', errorCodes.answer_timeout.message])(
    'that failed at its deadline is a 504 that tells it from one that goes on',
    async (message) => {
      const items = answering(({ answerId }) =>
        answerMessage(answerId, { status: 'failed', failure: { code: 'answer_timeout', message } }),
      );
      const answer = await post();
      expectError(answer, 504, 'answer_timeout');
      expect(answer.body.error.details).toEqual({ message_id: items[0]?.answerId, conversation_id: 'conv_1', status: 'failed' });
      expect(answer.body.error.message).toMatch(/No credits were charged/);
    },
  );

  test('that failed for an unknown reason is a 500 without the reason', async () => {
    answering(({ answerId }) => answerMessage(answerId, { status: 'failed', failure: { code: 'boom', message: 'a secret' } }));
    const answer = await post();
    expectError(answer, 500, 'internal');
    expect(answer.text).not.toMatch(/secret|boom/);
  });

  test('that was cancelled is a 409', async () => {
    answering(({ answerId }) => answerMessage(answerId, { status: 'cancelled', creditsConsumed: 0 }));
    expectError(await post(), 409, 'answer_cancelled');
  });

  test('that is not there any more was its agent’s', async () => {
    peer.agents.read = () => ({ message: null, attempt: 0 });
    expectError(await post(), 404, 'agent_deleted');
  });
});

describe('a message that is refused', () => {
  test.each<[ErrorCode, number]>([
    ['not_found', 404],
    ['agent_not_active', 409],
    ['conversation_busy', 409],
    ['idempotency_in_progress', 409],
    ['idempotency_key_reused', 422],
    ['invalid_request', 400],
  ])('as %s is a %i', async (code, status) => {
    peer.agents.start = () => ({ refusal: { code } });
    expectError(await post(), status, code);
  });

  test.each(['credits_exhausted', 'user_limit_reached'] as const)(
    'as %s is a 402 that says what was needed and what there is',
    async (code) => {
      peer.agents.start = () => ({ refusal: { code, required: 4, available: 3 } });
      const answer = await post();
      expectError(answer, 402, code);
      expect(answer.body.error.details).toEqual({ required: 4, available: 3 });
    },
  );

  test.each<[ErrorCode, number]>([
    ['too_many_waiting', 429],
    ['unavailable', 503],
    ['deadline_exceeded', 503],
  ])('as %s is a %i that says when to come back', async (code, status) => {
    peer.agents.start = () => ({ refusal: { code } });
    const answer = await post();
    expectError(answer, status, code);
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  test('spoils no other of its batch', async () => {
    answering();
    const accept = peer.agents.start;
    peer.agents.start = (item) => (item.message === 'bad' ? { refusal: { code: 'agent_not_active' } } : accept(item));
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => post({ message: index % 3 === 0 ? 'bad' : 'good' })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, index) => (index % 3 === 0 ? 409 : 200)));
  });

  test('with agents away is a 503 that says when to come back', async () => {
    await peer.stopAgents();
    try {
      const answer = await post();
      expectError(answer, 503, 'unavailable');
      expect(answer.headers.get('retry-after')).toBe('1');
    } finally {
      await peer.startAgents();
    }
    await until(async () => (await ask(gateways[0].url, '/readyz')).status === 200);
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
    peer.agents.start = never;
    const answer = await post(json);
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe(param);
  });

  test.each(['{"n":1e999}', '{"a":[{"b":-1e999}]}'])('for numbers that no JSON can hold is a 400: %s', async (context) => {
    peer.agents.start = never;
    const headers = { 'content-type': 'application/json' };
    const body = `{"message":"x","context":${context}}`;
    const answer = await ask(gateways[0].url, path, { method: 'POST', token, headers, body });
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe('context');
  });

  test('goes through at the limits', async () => {
    answering();
    expect((await post({ message: '\u{1F600}'.repeat(32_000), context: nested(5) })).status).toBe(200);
    expect((await post({ message: 'x', context: contextOf(16_384) })).status).toBe(200);
  });
});

describe('a message that is not waited for', () => {
  const prefer = { prefer: 'respond-async' };

  test('is a 202 that says where its answer can be read', async () => {
    const items: StartItem[] = [];
    peer.agents.start = (item) => {
      items.push(item);
      return started(item.answerId);
    };
    peer.agents.read = never;
    const { status, body, headers } = await post(undefined, prefer);
    const id = items[0]?.answerId;
    expect(status).toBe(202);
    expect(headers.get('location')).toBe(`/v1/agents/agt_1/messages/${id}`);
    expect(headers.get('preference-applied')).toBe('respond-async');
    expect(body.data).toMatchObject({
      id,
      conversation_id: 'conv_1',
      role: 'assistant',
      content: '',
      status: 'queued',
      credits_consumed: 0,
      model_used: 'Fast',
    });
    expect(Object.keys(body.data)).toHaveLength(9);
  });

  test('sent again is a 202 with the answer as it stands', async () => {
    peer.agents.start = () => started('msg_first', { attached: true });
    const { status, body, headers } = await post(undefined, { ...prefer, 'idempotency-key': 'again' });
    expect([status, body.data.id, body.data.status]).toEqual([202, 'msg_first', 'completed']);
    expect(headers.get('idempotent-replayed')).toBe('true');
  });

  test('is refused as any other', async () => {
    peer.agents.start = () => ({ refusal: { code: 'agent_not_active' } });
    const answer = await post(undefined, prefer);
    expectError(answer, 409, 'agent_not_active');
    expect(answer.headers.get('preference-applied')).toBeNull();
  });
});

describe('an Idempotency-Key', () => {
  test('attaches a repeat to the first answer, from another gateway too', async () => {
    const channels: string[] = [];
    peer.agents.start = ({ replyChannel }) => {
      channels.push(replyChannel);
      return started('msg_first', { attached: channels.length > 1 });
    };
    peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
    const key = { 'idempotency-key': 'k' };
    const first = post(undefined, key);
    await until(() => channels.length === 1);
    const repeats = [post(undefined, key, gateways[1]), post(undefined, key, gateways[0])];
    await until(() => channels.length === 3);
    for (const channel of new Set(channels)) replies.send(channel, { kind: 'ended', id: 'msg_first', message: answerMessage('msg_first') });
    const answers = await Promise.all([first, ...repeats]);
    expect(new Set(channels).size).toBe(2);
    expect(answers.map(({ status, body }) => [status, body.data.id])).toEqual(Array(3).fill([200, 'msg_first']));
    expect(answers.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true', 'true']);
  });

  test('of an answer that has ended already gets it at once', async () => {
    const attachedAt: number[] = [];
    const readAt: number[] = [];
    const { read } = peer.agents;
    peer.agents.start = () => {
      attachedAt.push(performance.now());
      return started('msg_first', { attached: true });
    };
    peer.agents.read = (answerId) => {
      readAt.push(performance.now());
      return read(answerId);
    };
    expect((await post(undefined, { 'idempotency-key': 'k' })).body.data.id).toBe('msg_first');
    // The first round of reading back comes a second after the start of any other answer.
    expect((readAt[0] ?? 0) - (attachedAt[0] ?? 0)).toBeLessThan(900);
  });
});

test('who goes away leaves the answer to run, and no place taken', async () => {
  const asked = Promise.withResolvers<StartItem>();
  peer.agents.start = (item) => {
    asked.resolve(item);
    return started(item.answerId);
  };
  peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
  const cancelled: string[] = [];
  peer.agents.cancelAnswer = async ({ messageId }) => {
    cancelled.push(messageId);
    return {};
  };
  const abort = new AbortController();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const sending = fetch(`${gateways[0].url}${path}`, { method: 'POST', headers, body: '{"message":"x"}', signal: abort.signal });
  await asked.promise;
  await until(async () => (await waitedFor(gateways[0])) === 1);
  abort.abort();
  await expect(sending).rejects.toThrow();
  await until(async () => (await waitedFor(gateways[0])) === 0);
  expect(cancelled).toEqual([]);
});

test('a thousand wait at once, and each gets their own', async () => {
  const items = new Map<string, StartItem>();
  peer.agents.start = (item) => {
    items.set(item.answerId, item);
    return started(item.answerId);
  };
  peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
  // A machine that is busy with other things may refuse one for a moment.
  const persist = async (message: string): Promise<Answer> => {
    const answer = await post({ message });
    return answer.status === 503 ? persist(message) : answer;
  };
  const asking = Array.from({ length: 1_000 }, (_, index) => persist(`Question ${index}`));
  await until(() => new Set([...items.values()].map(({ message }) => message)).size === 1_000, 40_000);
  const endOf = ({ answerId, message }: StartItem) => answerMessage(answerId, { content: `Answer to ${message}` });
  // Half of the replies are lost, and read back.
  peer.agents.read = (answerId) => ({ message: endOf(items.get(answerId) as StartItem), attempt: 1 });
  for (const [index, item] of [...items.values()].entries())
    if (index % 2 === 0) replies.send(item.replyChannel, { kind: 'ended', id: item.answerId, message: endOf(item) });
  const answers = await Promise.all(asking);
  expect(answers.map(({ status, body }) => [status, body.data?.content])).toEqual(
    answers.map((_, index) => [200, `Answer to Question ${index}`]),
  );
  await until(async () => (await waitedFor(gateways[0])) === 0);
}, 60_000);

test('while Redis is away, answers are read back', async () => {
  const redis = await ownRedis();
  const own = await startGateway(peer, redis.url, unlimited);
  await redis.stop();
  peer.agents.read = (answerId) => ({ message: answerMessage(answerId), attempt: 1 });
  expect((await post(undefined, {}, own)).status).toBe(200);
  await own.stop();
});

test('when the gateway stops, who waits has their answer first', async () => {
  const own = await startGateway(peer, redisUrl, unlimited);
  const asked = Promise.withResolvers<StartItem>();
  peer.agents.start = (item) => {
    asked.resolve(item);
    return started(item.answerId);
  };
  peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
  const sending = post(undefined, {}, own);
  const { answerId, replyChannel } = await asked.promise;
  const stopped = own.stop();
  await until(() => own.process.stopping.aborted);
  replies.send(replyChannel, { kind: 'ended', id: answerId, message: answerMessage(answerId) });
  const answer = await sending;
  expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  await stopped;
});
