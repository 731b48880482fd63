import { setTimeout as pause } from 'node:timers/promises';
import { testRedis, until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { answerMessage, type MessageItem, pending, type ReplySender, replySender, started, usualAgents } from './support/agents-peer.ts';
import { expectError } from './support/envelope.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { ask } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';
import { type EventStream, stream } from './support/sse.ts';

const token = apiKey('s');
const path = '/v1/agents/agt_1/messages';
const message = { message: 'How much?' };

let peer: Peer;
let gateway: Gateway;
/** Its waits end with the answer, however slow the machine is. */
let patientGateway: Gateway;
let replies: ReplySender;
beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [token]: caller('s') });
  const { url } = await testRedis();
  gateway = await startGateway(peer, url, { RATE_LIMIT_MESSAGES_PER_MINUTE: '100000', ANSWER_WAIT_SECONDS: '1' });
  patientGateway = await startGateway(peer, url, { ANSWER_WAIT_SECONDS: '60' });
  replies = await replySender(url);
});
afterAll(async () => {
  await replies.stop();
  await gateway.stop();
  await patientGateway.stop();
  await peer.stop();
});
afterEach(() => void Object.assign(peer.agents, usualAgents()));

interface Streamed {
  readonly item: MessageItem;
  readonly reader: EventStream;
  send(...news: News[]): void;
}

type News =
  | { kind: 'started'; attempt: number }
  | { kind: 'delta'; attempt: number; text: string }
  | { kind: 'tool'; attempt: number; step: { name: string; detail: string; rows: number; durationMs: number; error: string } }
  | { kind: 'ended'; message: ReturnType<typeof answerMessage> };

async function begin(headers: Record<string, string> = {}, more: Parameters<typeof started>[1] = {}): Promise<Streamed> {
  const accepted = Promise.withResolvers<MessageItem>();
  peer.agents.start = (item) => {
    accepted.resolve(item);
    return started(more.attached ? 'msg_first' : item.answerId, more);
  };
  peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
  const reader = await stream(`${gateway.url}${path}`, token, message, headers);
  const item = await accepted.promise;
  return { item, reader, send: (...news) => replies.send(item.replyChannel, ...news.map((one) => ({ ...one, id: item.answerId }))) };
}

const waitedFor = async (of = gateway) => {
  const metric = of.process.metrics.registry.getSingleMetric('answers_waited_for');
  return (await metric?.get())?.values[0]?.value;
};

const kinds = ({ events }: EventStream) => events.map(({ event }) => event);

describe('a streamed answer', () => {
  test('goes on after forged ends, and ends with the message that is read', async () => {
    const { item, reader, send } = await begin();
    send({ kind: 'started', attempt: 1 }, { kind: 'ended', message: {} as ReturnType<typeof answerMessage> });
    send({ kind: 'ended', message: answerMessage('msg_of_another') }, { kind: 'started', attempt: 2 });
    await reader.until(2);
    expect(kinds(reader)).toEqual(['started', 'started']);
    peer.agents.read = (answerId) => ({ message: answerMessage(answerId), attempt: 1 });
    await reader.ended;
    expect(reader.events.at(-1)).toMatchObject({ event: 'completed', data: { id: item.answerId, content: 'You sold 120 orders.' } });
  });

  test('arrives in pieces and in order, and ends with the whole message', async () => {
    const { item, reader, send } = await begin();
    expect(item.stream).toBe(true);
    expect([reader.status, reader.headers['content-type'], reader.headers['x-accel-buffering']]).toEqual([200, 'text/event-stream', 'no']);
    expect(reader.headers['content-location']).toBe(`${path}/${item.answerId}`);
    expect([reader.headers['cache-control'], reader.headers['content-length']]).toEqual(['no-store', undefined]);
    const step = { name: 'query', detail: 'select 1', rows: 1, durationMs: 7, error: '' };
    send({ kind: 'started', attempt: 1 }, { kind: 'delta', attempt: 1, text: 'You sold ' });
    await reader.until(2);
    send({ kind: 'tool', attempt: 1, step: { ...step, error: 'No such table.' } });
    send({ kind: 'tool', attempt: 1, step }, { kind: 'delta', attempt: 1, text: '120\norders.' });
    send({ kind: 'ended', message: answerMessage(item.answerId, { content: 'You sold 120\norders.' }) });
    await reader.ended;
    expect(reader.events).toEqual([
      { event: 'started', data: { message_id: item.answerId, conversation_id: 'conv_1', attempt: 1 } },
      { event: 'delta', data: { text: 'You sold ', attempt: 1 } },
      { event: 'tool', data: { name: 'query', detail: 'select 1', rows: 1, duration_ms: 7, error: 'No such table.', attempt: 1 } },
      { event: 'tool', data: { name: 'query', detail: 'select 1', rows: 1, duration_ms: 7, error: null, attempt: 1 } },
      { event: 'delta', data: { text: '120\norders.', attempt: 1 } },
      {
        event: 'completed',
        data: expect.objectContaining({ id: item.answerId, status: 'completed', content: 'You sold 120\norders.', credits_consumed: 2 }),
      },
    ]);
    expect(reader.comments.length).toBeGreaterThan(0);
    await until(async () => (await waitedFor()) === 0);
  });

  test('restarts with a new attempt, and drops the rest of the previous one', async () => {
    const { item, reader, send } = await begin();
    send({ kind: 'started', attempt: 1 }, { kind: 'delta', attempt: 1, text: 'old' });
    send({ kind: 'started', attempt: 2 }, { kind: 'delta', attempt: 1, text: ' older' }, { kind: 'delta', attempt: 2, text: 'new' });
    send({ kind: 'ended', message: answerMessage(item.answerId, { content: 'new' }) }, { kind: 'delta', attempt: 2, text: 'late' });
    await reader.ended;
    expect(reader.events.slice(0, -1).map(({ event, data }) => [event, data.attempt, data.text])).toEqual([
      ['started', 1, undefined],
      ['delta', 1, 'old'],
      ['started', 2, undefined],
      ['delta', 2, 'new'],
    ]);
  });

  test('ends with the reason of a failure', async () => {
    const { item, reader, send } = await begin({ 'x-request-id': 'req-7' });
    send({ kind: 'started', attempt: 1 });
    send({ kind: 'ended', message: answerMessage(item.answerId, { status: 'failed', failure: { code: 'provider_error', message: '' } }) });
    await reader.ended;
    expect(kinds(reader)).toEqual(['started', 'failed']);
    expect(reader.events[1]?.data).toEqual({
      error: {
        type: 'provider',
        code: 'provider_error',
        message: expect.any(String),
        param: null,
        details: { message_id: item.answerId, conversation_id: 'conv_1' },
      },
      meta: { request_id: 'req-7' },
    });
  });

  test('ends with what a cancelled message says', async () => {
    const { item, reader, send } = await begin();
    const content = 'The answer was cancelled. Business data had been changed before.';
    send({ kind: 'ended', message: answerMessage(item.answerId, { status: 'cancelled', content }) });
    await reader.ended;
    expect(reader.events.at(-1)).toMatchObject({ event: 'failed', data: { error: { code: 'answer_cancelled', message: content } } });
  });

  test('lasts longer than the wait limit of other requests', async () => {
    const { item, reader, send } = await begin();
    await pause(1_600);
    send({ kind: 'ended', message: answerMessage(item.answerId) });
    await reader.ended;
    expect(kinds(reader)).toEqual(['started', 'completed']);
  });

  test('ends soon after the deadline of the answer', async () => {
    const { item, reader } = await begin({}, { deadlineMs: Date.now() - 9_000 });
    await reader.ended;
    expect(reader.events).toEqual([
      { event: 'detached', data: { message_id: item.answerId, conversation_id: 'conv_1', status: 'running' } },
    ]);
  });

  test('has the whole answer although every reply was lost', async () => {
    const { item, reader } = await begin();
    peer.agents.read = (answerId) => ({ message: answerMessage(answerId), attempt: 1 });
    await reader.ended;
    expect(kinds(reader)).toEqual(['started', 'completed']);
    expect(reader.events[1]?.data.id).toBe(item.answerId);
  });

  test('of an answer that has ended is sent at once to a repeat', async () => {
    const asking = begin({ 'idempotency-key': 'k' }, { attached: true });
    const { reader } = await asking;
    peer.agents.read = (answerId) => ({ message: answerMessage(answerId), attempt: 2 });
    await reader.ended;
    expect(reader.headers['idempotent-replayed']).toBe('true');
    expect(reader.events.map(({ event, data }) => [event, data.message_id ?? data.id])).toEqual([
      ['started', 'msg_first'],
      ['completed', 'msg_first'],
    ]);
  });

  test('of an answer that has ended is sent to a repeat long after the deadline, although it is not read at once', async () => {
    const asking = begin({ 'idempotency-key': 'k' }, { attached: true, deadlineMs: Date.now() - 3_600_000 });
    const { reader } = await asking;
    peer.agents.read = async (answerId) => {
      await pause(500);
      return { message: answerMessage(answerId), attempt: 1 };
    };
    await reader.ended;
    expect(kinds(reader)).toEqual(['started', 'completed']);
  });

  test('leaves the answer running when its reader disconnects', async () => {
    const { reader, send } = await begin();
    send({ kind: 'started', attempt: 1 });
    await reader.until(1);
    await until(async () => (await waitedFor()) === 1);
    reader.leave();
    await until(async () => (await waitedFor()) === 0);
    send({ kind: 'delta', attempt: 1, text: 'to no reader' });
    expect((await ask(gateway.url, '/livez')).status).toBe(200);
  });
});

describe('an error before the stream begins', () => {
  const accept = { accept: 'text/event-stream' };
  const post = (json: object, headers: Record<string, string> = accept) => ask(gateway.url, path, { method: 'POST', token, json, headers });

  test('has the usual form', async () => {
    expectError(await post({ message: '' }), 400, 'invalid_request');
    peer.agents.start = () => ({ refusal: { code: 'agent_not_active' } });
    expectError(await post(message), 409, 'agent_not_active');
    peer.agents.start = () => ({ refusal: { code: 'credits_exhausted', required: 4, available: 0 } });
    expectError(await post(message), 402, 'credits_exhausted');
    expectError(await ask(gateway.url, path, { method: 'POST', json: message, headers: accept }), 401, 'missing_token');
  });

  test('a request with respond-async gets no stream', async () => {
    const { status, body } = await post(message, { ...accept, prefer: 'respond-async' });
    expect([status, body.data.status]).toEqual([202, 'queued']);
  });
});

describe('a stream whose events have ids', () => {
  const content = 'You sold 120 orders.';
  const keyed = { 'idempotency-key': 'resumed' };

  async function open(target: Gateway, headers: Record<string, string> = {}, attached = false): Promise<Streamed> {
    const accepted = Promise.withResolvers<MessageItem>();
    peer.agents.start = (item) => {
      accepted.resolve(item);
      return started('msg_resumed', { attached });
    };
    peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
    const reader = await stream(`${target.url}${path}/stream`, token, message, { accept: 'application/json', ...headers });
    const item = await accepted.promise;
    return { item, reader, send: (...news) => replies.send(item.replyChannel, ...news.map((one) => ({ ...one, id: 'msg_resumed' }))) };
  }

  test('continues on another gateway after a lost connection, and sends nothing twice', async () => {
    const other = await startGateway(peer, (await testRedis()).url, { RATE_LIMIT_MESSAGES_PER_MINUTE: '100000' });
    try {
      const first = await open(gateway, keyed);
      first.send(
        { kind: 'started', attempt: 1 },
        { kind: 'delta', attempt: 1, text: 'You ' },
        { kind: 'delta', attempt: 1, text: 'sold ' },
      );
      await first.reader.until(3);
      const ids = first.reader.events.map(({ id }) => id);
      expect(ids.map((id) => id?.split('-').slice(0, 2).join('-'))).toEqual(['1-0', '1-4', '1-9']);
      first.reader.leave();

      const second = await open(other, { ...keyed, 'last-event-id': ids[1] ?? '' }, true);
      expect(second.reader.status).toBe(200);
      // A piece from the middle of the text is not passed on: the reader would not know what is missing before it.
      second.send({ kind: 'delta', attempt: 1, text: '120 ' });
      second.send({ kind: 'ended', message: answerMessage('msg_resumed', { content }) });
      await second.reader.ended;
      expect(kinds(second.reader)).toEqual(['delta', 'completed']);
      expect(second.reader.events[0]?.data).toEqual({ text: 'sold 120 orders.', attempt: 1 });

      const last = second.reader.events[1]?.id ?? '';
      const third = await open(gateway, { ...keyed, 'last-event-id': last }, true);
      third.send({ kind: 'ended', message: answerMessage('msg_resumed', { content }) });
      await third.reader.ended;
      expect(kinds(third.reader)).toEqual(['completed']);
    } finally {
      await other.stop();
    }
  });

  test('says that the text has begun again when the reader’s part of it is void', async () => {
    const first = await open(gateway, keyed);
    first.send({ kind: 'started', attempt: 1 }, { kind: 'delta', attempt: 1, text: 'Another beginning' });
    await first.reader.until(2);
    const id = first.reader.events[1]?.id ?? '';
    first.reader.leave();
    const whole = await open(gateway, { ...keyed, 'last-event-id': id }, true);
    whole.send({ kind: 'ended', message: answerMessage('msg_resumed', { content }) });
    await whole.reader.ended;
    expect(kinds(whole.reader)).toEqual(['started', 'completed']);
    const live = await open(gateway, { ...keyed, 'last-event-id': id }, true);
    live.send({ kind: 'started', attempt: 2 }, { kind: 'delta', attempt: 2, text: 'You sold ' });
    live.send({ kind: 'ended', message: answerMessage('msg_resumed', { content }) });
    await live.reader.ended;
    expect(kinds(live.reader)).toEqual(['started', 'delta', 'completed']);
  });

  test('refuses an id that is none, and one without the Idempotency-Key that names the answer', async () => {
    for (const headers of [{ ...keyed, 'last-event-id': 'x' }, { 'last-event-id': '1-0-0a1b2c3d' }]) {
      const refused = await ask(gateway.url, `${path}/stream`, { method: 'POST', token, json: message, headers });
      expectError(refused, 400, 'invalid_request');
      expect(refused.body.error.param).toBe('Last-Event-ID');
    }
  });
});

describe('reading a message with Prefer: wait', () => {
  const read = (headers: Record<string, string>, from = gateway) => ask(from.url, `${path}/msg_1`, { token, headers });

  test('answers when the answer has ended, or after the wait that was applied, with its state', async () => {
    let status = 'running';
    peer.agents.getMessage = async ({ messageId }) => ({ message: status === 'running' ? pending(messageId) : answerMessage(messageId) });
    peer.agents.read = (answerId) => ({ message: status === 'running' ? pending(answerId) : answerMessage(answerId), attempt: 1 });
    expect((await read({})).body.data.status).toBe('running');
    for (const prefer of ['wait=9', 'wait=86400']) {
      const late = await read({ prefer });
      expect([late.status, late.body.data.status, late.headers.get('preference-applied')]).toEqual([200, 'running', 'wait=1']);
    }
    const waiting = read({ prefer: 'respond-async, wait=50' }, patientGateway);
    await until(async () => (await waitedFor(patientGateway)) === 1);
    status = 'completed';
    expect((await waiting).body.data.status).toBe('completed');
    expect((await read({ prefer: 'wait=x' })).headers.has('preference-applied')).toBe(false);
  });

  test('has the error of an answer that failed or was cancelled, as a stream ends with it', async () => {
    const overdue = { status: 'failed', failure: { code: 'answer_timeout', message: '' } };
    const ends = [
      { status: 'cancelled', content: 'Cancelled.' },
      overdue,
      { status: 'failed', failure: { code: 'boom', message: 'a secret' } },
    ];
    for (const end of ends) {
      peer.agents.getMessage = async ({ messageId }) => ({ message: answerMessage(messageId, end) });
      const { item, reader, send } = await begin();
      send({ kind: 'ended', message: answerMessage(item.answerId, end) });
      await reader.ended;
      const { data } = (await ask(gateway.url, `${path}/${item.answerId}`, { token })).body;
      expect(data.error).toEqual(reader.events.at(-1)?.data.error);
      expect(data.error.message).not.toMatch(/secret/);
    }
    peer.agents.getMessage = async ({ messageId }) => ({ message: pending(messageId) });
    expect((await read({})).body.data).not.toHaveProperty('error');
  });

  test('reads an answer once for all requests that wait for it', async () => {
    let reads = 0;
    const released = Promise.withResolvers<void>();
    peer.agents.getMessage = async ({ messageId }) => ({ message: pending(messageId) });
    peer.agents.read = async (answerId) => {
      reads += 1;
      await released.promise;
      return { message: answerMessage(answerId), attempt: 1 };
    };
    const waiting = Array.from({ length: 20 }, () => read({ prefer: 'wait=50' }, patientGateway));
    await until(async () => (await waitedFor(patientGateway)) === 20);
    released.resolve();
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(200);
    expect(reads).toBe(1);
  });

  test('waits no longer when the clock of the database is set back during the wait', async () => {
    const { clock } = gateway.process;
    const step = (ms: number) => clock.follow().sample(clock.now() + ms, performance.now(), performance.now());
    const accepted = Promise.withResolvers<void>();
    peer.agents.getMessage = async ({ messageId }) => ({ message: pending(messageId) });
    peer.agents.read = (answerId) => {
      accepted.resolve();
      return { message: pending(answerId), attempt: 1 };
    };
    const waiting = read({ prefer: 'wait=1' });
    await accepted.promise;
    step(-3_600_000);
    try {
      expect((await waiting).body.data.status).toBe('running');
    } finally {
      step(3_600_000);
    }
  });
});
