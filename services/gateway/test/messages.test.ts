import { setTimeout as pause } from 'node:timers/promises';
import { type ErrorCode, errorCodes } from '@agent-service/contracts';
import { ownRedis, until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { agent, answerMessage, type MessageItem, pending, started } from './support/agents-peer.ts';
import { expectError } from './support/envelope.ts';
import { type Gateway, startGateway } from './support/gateway.ts';
import { type Answer, ask } from './support/http.ts';
import { type MessageWorld, never, path, startMessageWorld, token, unlimited } from './support/message-world.ts';

let world: MessageWorld;
beforeAll(async () => {
  world = await startMessageWorld();
});
afterAll(() => world?.stop());
afterEach(() => world.reset());

const waitedFor = async ({ process }: Gateway) => {
  const metric = process.metrics.registry.getSingleMetric('answers_waited_for');
  return (await metric?.get())?.values[0]?.value;
};

describe('a message that is waited for', () => {
  test('is answered with exactly the documented fields and the status', async () => {
    const items = world.answering();
    world.peer.agents.read = never;
    const { status, body, headers } = await world.post();
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

  test('has the content type text where it must not be rendered', async () => {
    world.answering(({ answerId }) => answerMessage(answerId, { contentType: 'text' }));
    expect((await world.post()).body.data.content_type).toBe('text');
  });

  test('has its queries if there are any', async () => {
    const queries = [{ statement: 'select 1', tables: ['orders'], rows: 1, durationMs: 12 }];
    world.answering(({ answerId }) => answerMessage(answerId, { queries }));
    expect((await world.post()).body.data.queries).toEqual([{ statement: 'select 1', tables: ['orders'], rows: 1, duration_ms: 12 }]);
  });

  test('is sent to agents with all fields that an answer needs', async () => {
    const items = world.answering();
    const context = { page: 'orders', record: { id: 7 } };
    const headers = { 'x-request-id': 'req-1', 'idempotency-key': 'k-1' };
    await world.post({ message: 'How much?', conversation_id: 'conv_1', context }, headers);
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
          agentId: '',
          tokenId: '',
          tokenEndsAt: '0',
          tokenIssuedAt: '0',
          tokenKid: '',
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
    await world.post();
    expect(items[1]).toMatchObject({ conversationId: '', contextJson: '', idempotencyScope: '', idempotencyFingerprint: '' });
  });

  test('is answered even if its reply arrives before its acceptance', async () => {
    world.peer.agents.start = async ({ answerId, replyChannel }) => {
      world.replies.send(replyChannel, { kind: 'ended', id: answerId, message: answerMessage(answerId) });
      await pause(50);
      return started(answerId);
    };
    world.peer.agents.read = never;
    expect((await world.post()).status).toBe(200);
  });

  test('is read back when its reply is lost', async () => {
    const read: string[] = [];
    world.peer.agents.read = (answerId) => {
      read.push(answerId);
      return { message: answerMessage(answerId), attempt: 1 };
    };
    const { status, body } = await world.post();
    expect([status, read]).toEqual([200, [body.data.id]]);
  });

  test('ignores forged ends', async () => {
    world.peer.agents.read = (answerId) => ({ message: answerMessage(answerId), attempt: 1 });
    world.peer.agents.start = ({ answerId: id, replyChannel }) => {
      const forged = { kind: 'ended' as const, id, message: answerMessage('msg_of_another') };
      setImmediate(() => world.replies.send(replyChannel, { ...forged, message: {} as typeof forged.message }, forged));
      return started(id);
    };
    const { status, body } = await world.post();
    expect([status, body.data.content]).toEqual([200, 'You sold 120 orders.']);
    expect(body.data.id).not.toBe('msg_of_another');
  });

  test('ignores replies that are repeated, late, out of order or for an unknown request', async () => {
    world.peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
    const channels = new Set<string>();
    world.peer.agents.start = ({ answerId, replyChannel }) => {
      channels.add(replyChannel);
      const end = { kind: 'ended' as const, id: answerId, message: answerMessage(answerId) };
      const delta = { kind: 'delta' as const, id: answerId, attempt: 1, text: 'x' };
      setImmediate(() => world.replies.send(replyChannel, delta, { ...end, id: 'msg_nobody' }, end, end, delta));
      return started(answerId);
    };
    const ids = (await Promise.all(Array.from({ length: 20 }, () => world.post()))).map(({ body }) => body.data.id);
    expect(new Set(ids).size).toBe(20);
    for (const channel of channels)
      world.replies.send(channel, ...ids.map((id) => ({ kind: 'ended' as const, id, message: answerMessage(id) })));
    world.answering();
    expect((await world.post()).status).toBe(200);
  });

  test('is a 504 with its ids when the wait limit is over, while its answer continues', async () => {
    const items: MessageItem[] = [];
    world.peer.agents.start = (item) => {
      items.push(item);
      return started(item.answerId);
    };
    let reads = 0;
    world.peer.agents.read = (answerId) => {
      reads += 1;
      return { message: pending(answerId), attempt: 1 };
    };
    const answer = await world.post(undefined, {}, world.gateways[1]);
    expectError(answer, 504, 'answer_timeout');
    expect(answer.body.error.details).toEqual({ message_id: items[0]?.answerId, conversation_id: 'conv_1', status: 'running' });
    // An answer is read back once a second, so the wait lasted.
    expect(reads).toBeGreaterThan(0);
  });

  test.each<[ErrorCode, number]>([
    ['provider_error', 502],
    ['agent_deleted', 404],
    ['internal', 500],
  ])('that failed as %s is a %i with its ids', async (code, status) => {
    const items = world.answering(({ answerId }) =>
      answerMessage(answerId, { status: 'failed', creditsConsumed: 0, failure: { code, message: '' } }),
    );
    const answer = await world.post();
    expectError(answer, status, code);
    expect(answer.body.error.details).toEqual({ message_id: items[0]?.answerId, conversation_id: 'conv_1' });
    expect(answer.body.error.message).toBe(errorCodes[code].message);
  });

  test.each(['', errorCodes.answer_timeout.message])('that failed at its deadline is a 504 with the status failed', async (message) => {
    const items = world.answering(({ answerId }) =>
      answerMessage(answerId, { status: 'failed', failure: { code: 'answer_timeout', message } }),
    );
    const answer = await world.post();
    expectError(answer, 504, 'answer_timeout');
    expect(answer.body.error.details).toEqual({ message_id: items[0]?.answerId, conversation_id: 'conv_1', status: 'failed' });
    expect(answer.body.error.message).toMatch(/No credits were charged/);
  });

  test('that failed for an unknown reason is a 500 without the reason', async () => {
    world.answering(({ answerId }) => answerMessage(answerId, { status: 'failed', failure: { code: 'boom', message: 'a secret' } }));
    const answer = await world.post();
    expectError(answer, 500, 'internal');
    expect(answer.text).not.toMatch(/secret|boom/);
  });

  test.each([
    [
      'The answer was cancelled. Business data had been changed before.',
      'The answer was cancelled. Business data had been changed before.',
    ],
    ['', errorCodes.answer_cancelled.message],
  ])('that was cancelled is a 409 that says what the message says: %j', async (content, text) => {
    world.answering(({ answerId }) => answerMessage(answerId, { status: 'cancelled', creditsConsumed: 0, content }));
    const answer = await world.post();
    expectError(answer, 409, 'answer_cancelled');
    expect(answer.body.error.message).toBe(text);
  });

  test('whose answer was deleted is a 404 for the agent', async () => {
    world.peer.agents.read = () => ({ message: null, attempt: 0 });
    expectError(await world.post(), 404, 'agent_deleted');
  });
});

describe('a message that is not waited for', () => {
  const prefer = { prefer: 'respond-async' };

  test('is a 202 with the Location of its answer', async () => {
    const items: MessageItem[] = [];
    world.peer.agents.start = (item) => {
      items.push(item);
      return started(item.answerId);
    };
    world.peer.agents.read = never;
    const { status, body, headers } = await world.post(undefined, prefer);
    const id = items[0]?.answerId;
    expect(status).toBe(202);
    expect(headers.get('location')).toBe(`/v1/agents/agt_1/messages/${id}`);
    expect(headers.get('preference-applied')).toBe('respond-async');
    expect(headers.get('retry-after')).toBe('1');
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

  test('that is repeated is a 202 with the current state of its answer', async () => {
    world.peer.agents.start = () => started('msg_first', { attached: true });
    const { status, body, headers } = await world.post(undefined, { ...prefer, 'idempotency-key': 'again' });
    expect([status, body.data.id, body.data.status]).toEqual([202, 'msg_first', 'completed']);
    expect(headers.get('idempotent-replayed')).toBe('true');
  });

  test('is refused with the same errors as one that is waited for', async () => {
    world.peer.agents.start = () => ({ refusal: { code: 'agent_not_active' } });
    const answer = await world.post(undefined, prefer);
    expectError(answer, 409, 'agent_not_active');
    expect(answer.headers.get('preference-applied')).toBeNull();
  });
});

test('a message of the most characters is read with each of them escaped', async () => {
  world.peer.agents.start = () => ({ refusal: { code: 'agent_not_active' } });
  const path = `${world.gateways[0].url}/v1/agents/agt_1/messages`;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = `{"message":"${String.raw`\ud83d\ude00`.repeat(32_000)}"}`;
  expect((await fetch(path, { method: 'POST', headers, body })).status).toBe(409);
});

describe('an Idempotency-Key', () => {
  test('is the same one for each way to encode the path', async () => {
    const items = world.answering();
    const headers = { 'idempotency-key': 'encoded' };
    for (const same of [path, path.replace('agt_1', '%61gt%5f1')])
      expect((await ask(world.gateways[0].url, same, { method: 'POST', token, json: { message: 'x' }, headers })).status).toBe(200);
    const scope = `org_m live key_m POST ${path} encoded`;
    expect(items.map(({ idempotencyScope }) => idempotencyScope)).toEqual([scope, scope]);
  });

  test('attaches a repeat to the first answer, also through a second gateway', async () => {
    const channels: string[] = [];
    world.peer.agents.start = ({ replyChannel }) => {
      channels.push(replyChannel);
      return started('msg_first', { attached: channels.length > 1 });
    };
    world.peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
    const key = { 'idempotency-key': 'k' };
    const first = world.post(undefined, key);
    await until(() => channels.length === 1);
    const repeats = [world.post(undefined, key, world.gateways[1]), world.post(undefined, key, world.gateways[0])];
    await until(() => channels.length === 3);
    for (const channel of new Set(channels))
      world.replies.send(channel, { kind: 'ended', id: 'msg_first', message: answerMessage('msg_first') });
    const answers = await Promise.all([first, ...repeats]);
    expect(new Set(channels).size).toBe(2);
    expect(answers.map(({ status, body }) => [status, body.data.id])).toEqual(Array(3).fill([200, 'msg_first']));
    expect(answers.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true', 'true']);
  });

  test('of an answer that has ended returns that answer', async () => {
    world.peer.agents.start = () => started('msg_first', { attached: true });
    expect((await world.post(undefined, { 'idempotency-key': 'k' })).body.data.id).toBe('msg_first');
  });
});

test('a caller that disconnects does not cancel the answer and leaves no wait behind', async () => {
  const accepted = Promise.withResolvers<MessageItem>();
  world.peer.agents.start = (item) => {
    accepted.resolve(item);
    return started(item.answerId);
  };
  world.peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
  const cancelled: string[] = [];
  world.peer.agents.cancelAnswer = async ({ messageId }) => {
    cancelled.push(messageId);
    return {};
  };
  const abort = new AbortController();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const sending = fetch(`${world.gateways[0].url}${path}`, { method: 'POST', headers, body: '{"message":"x"}', signal: abort.signal });
  await accepted.promise;
  await until(async () => (await waitedFor(world.gateways[0])) === 1);
  abort.abort();
  await expect(sending).rejects.toThrow();
  await until(async () => (await waitedFor(world.gateways[0])) === 0);
  expect(cancelled).toEqual([]);
});

test('a thousand callers wait at the same time, and each receives its own answer', async () => {
  const items = new Map<string, MessageItem>();
  world.peer.agents.start = (item) => {
    items.set(item.answerId, item);
    return started(item.answerId);
  };
  world.peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
  // A gateway on a busy machine may refuse a message with 503.
  const persist = async (message: string): Promise<Answer> => {
    const answer = await world.post({ message });
    return answer.status === 503 ? persist(message) : answer;
  };
  const asking = Array.from({ length: 1_000 }, (_, index) => persist(`Question ${index}`));
  await until(() => new Set([...items.values()].map(({ message }) => message)).size === 1_000, 40_000);
  const endOf = ({ answerId, message }: MessageItem) => answerMessage(answerId, { content: `Answer to ${message}` });
  // Half of the replies are lost; the gateway reads these answers back.
  world.peer.agents.read = (answerId) => ({ message: endOf(items.get(answerId) as MessageItem), attempt: 1 });
  for (const [index, item] of [...items.values()].entries())
    if (index % 2 === 0) world.replies.send(item.replyChannel, { kind: 'ended', id: item.answerId, message: endOf(item) });
  const answers = await Promise.all(asking);
  expect(answers.map(({ status, body }) => [status, body.data?.content])).toEqual(
    answers.map((_, index) => [200, `Answer to Question ${index}`]),
  );
  await until(async () => (await waitedFor(world.gateways[0])) === 0);
});

test('while Redis is unavailable, answers are read back', async () => {
  const redis = await ownRedis();
  const own = await startGateway(world.peer, redis.url, unlimited, { giveUpRedis: true });
  await redis.stop();
  world.peer.agents.read = (answerId) => ({ message: answerMessage(answerId), attempt: 1 });
  expect((await world.post(undefined, {}, own)).status).toBe(200);
  await own.stop();
});

/** A gateway with one caller whose message was accepted and is not answered yet. */
async function gatewayWithWait(drainSeconds: number) {
  const own = await startGateway(world.peer, world.redisUrl, { ...unlimited, ANSWER_WAIT_DRAIN_SECONDS: String(drainSeconds) });
  const accepted = Promise.withResolvers<MessageItem>();
  world.peer.agents.start = (item) => {
    accepted.resolve(item);
    return started(item.answerId);
  };
  world.peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
  const sending = world.post(undefined, {}, own);
  const item = await accepted.promise;
  await until(async () => (await waitedFor(own)) === 1);
  return { own, sending, item };
}

describe('a gateway that stops', () => {
  test('waits for the answers of its callers as long as ANSWER_WAIT_DRAIN_SECONDS says, and then not for the rest of that time', async () => {
    const { own, sending, item } = await gatewayWithWait(3_600);
    const stopped = own.stop();
    await until(() => own.process.stopping.aborted);
    world.replies.send(item.replyChannel, { kind: 'ended', id: item.answerId, message: answerMessage(item.answerId) });
    const answer = await sending;
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    await stopped;
  });

  test('tells its waiting callers where their answers can be read when that time is over', async () => {
    const { own, sending, item } = await gatewayWithWait(0);
    const stopped = own.stop();
    const answer = await sending;
    expectError(answer, 504, 'answer_timeout');
    expect(answer.body.error.details).toMatchObject({ message_id: item.answerId, conversation_id: 'conv_1' });
    expect(answer.headers.get('connection')).toBe('close');
    await stopped;
  });

  test('stops at once when no caller waits', async () => {
    const own = await startGateway(world.peer, world.redisUrl, { ...unlimited, ANSWER_WAIT_DRAIN_SECONDS: '3600' });
    await own.stop();
    await expect(fetch(own.url)).rejects.toThrow();
  });
});
