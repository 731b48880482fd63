import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { testRedis, until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { answerMessage, type MessageItem, pending, type ReplySender, replySender, started, usualAgents } from './support/agents-peer.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { type Answer, ask } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

const token = apiKey('m');
const path = '/v1/agents/agt_1/messages';
/** The number of calls with messages that a gateway makes at the same time. */
const callsAtOnce = 4;

let peer: Peer;
let gateway: Gateway;
let replies: ReplySender;
beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [token]: caller('m') });
  const redisUrl = (await testRedis()).url;
  gateway = await startGateway(peer, redisUrl, { RATE_LIMIT_MESSAGES_PER_MINUTE: '100000' });
  replies = await replySender(redisUrl);
});
afterAll(async () => {
  await replies.stop();
  await gateway.stop();
  await peer.stop();
});
afterEach(() => void Object.assign(peer.agents, usualAgents()));

const post = (message: string): Promise<Answer> => ask(gateway.url, path, { method: 'POST', token, json: { message } });

/** A peer that holds each message until it is released, and then returns its answer at once. */
function slowAgents() {
  const arrived: MessageItem[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gateOf = (message: string) => {
    const gate = gates.get(message) ?? Promise.withResolvers<void>();
    gates.set(message, gate);
    return gate;
  };
  peer.agents.start = async (item) => {
    arrived.push(item);
    await gateOf(item.message ?? '').promise;
    setImmediate(() =>
      replies.send(item.replyChannel ?? '', { kind: 'ended', id: item.answerId ?? '', message: answerMessage(item.answerId ?? '') }),
    );
    return started(item.answerId ?? '');
  };
  peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
  const cancelled: { messageId: string; preventAcceptance: boolean }[] = [];
  peer.agents.cancelAnswer = async ({ messageId, preventAcceptance }) => {
    cancelled.push({ messageId, preventAcceptance });
    return {};
  };
  const hasArrived = (message: string) => until(() => arrived.some((item) => item.message === message));
  const idOfLeft = () => arrived.find(({ message }) => message === 'left')?.answerId;
  return {
    arrived,
    cancelled,
    hasArrived,
    idOfLeft,
    letGo: (...messages: string[]) => messages.map((message) => gateOf(message).resolve()),
  };
}

/** Sends messages, each in its own call, until the gateway makes no further call. */
async function fillCalls({ hasArrived }: ReturnType<typeof slowAgents>) {
  const messages = Array.from({ length: callsAtOnce }, (_, n) => `filling ${n}`);
  const answers: Promise<Answer>[] = [];
  for (const message of messages) {
    answers.push(post(message));
    await hasArrived(message);
  }
  return { messages, answers };
}

/** A message over a connection of its own, whose caller can disconnect; resolves when all of its bytes were sent. */
async function leaving(headers: Record<string, string> = {}) {
  const own = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers };
  const sent = request(`${gateway.url}${path}`, { method: 'POST', headers: own, agent: false });
  const written = once(sent, 'finish');
  sent.end('{"message":"left"}');
  await written;
  return {
    /** Disconnects; the result resolves when the gateway has seen the end of the connection. */
    async leave() {
      const before = await left();
      sent.on('error', () => undefined);
      await new Promise((closed) => sent.once('close', closed).destroy());
      // A call that is not cancelled takes five seconds.
      return async () => until(async () => (await left()) > before, 4_000);
    },
  };
}

/** The number of requests whose callers disconnected, from the gateway's metrics. */
async function left(): Promise<number> {
  const metric = await gateway.process.metrics.registry.getSingleMetricAsString('http_server_seconds');
  return [...metric.matchAll(/_count.*status="499".* (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Resolves when the gateway has read all bytes that were sent to it, and the ends of connections. */
const untilRead = async () => {
  for (let n = 0; n < 25; n += 1) await ask(gateway.url, '/livez');
};

const leavers: Record<string, string>[] = [{}, { 'idempotency-key': 'kept' }];

describe('a caller that disconnects before its message is accepted', () => {
  test.each<Record<string, string>>([{}, { prefer: 'respond-async' }, { accept: 'text/event-stream' }, { 'idempotency-key': 'left' }])(
    'and before the call: the message is not sent, %j',
    async (headers) => {
      const agents = slowAgents();
      const filling = await fillCalls(agents);
      const caller = await leaving(headers);
      await untilRead();
      const isOver = await caller.leave();
      await untilRead();
      agents.letGo(...filling.messages, 'left', 'after');
      for (const answer of filling.answers) expect((await answer).status).toBe(200);
      await isOver();
      expect((await post('after')).status).toBe(200);
      expect(agents.arrived.map(({ message }) => message)).toEqual([...filling.messages, 'after']);
    },
  );

  test.each(leavers)('and is alone in its call: the call is cancelled, and what agents may be accepting as well, %j', async (headers) => {
    const agents = slowAgents();
    const caller = await leaving(headers);
    await agents.hasArrived('left');
    await (await caller.leave())();
    expect(agents.cancelled).toEqual('idempotency-key' in headers ? [] : [{ messageId: agents.idOfLeft(), preventAcceptance: true }]);
    agents.letGo('left');
  });

  test.each(leavers)(
    'and shares its call: the answer is cancelled, unless an Idempotency-Key lets the caller repeat it, %j',
    async (headers) => {
      const agents = slowAgents();
      const filling = await fillCalls(agents);
      const caller = await leaving(headers);
      const together = post('together');
      await untilRead();
      agents.letGo(...filling.messages);
      await agents.hasArrived('left');
      const isOver = await caller.leave();
      await untilRead();
      agents.letGo('left', 'together');
      expect((await together).status).toBe(200);
      await isOver();
      expect(agents.cancelled).toEqual('idempotency-key' in headers ? [] : [{ messageId: agents.idOfLeft(), preventAcceptance: false }]);
    },
  );
});

test('a caller that disconnects while an answer waits for its turn on the connection is not waited for', async () => {
  peer.script.getUser = () => new Promise(() => undefined);
  const streamed = Promise.withResolvers<void>();
  peer.agents.start = (item) => {
    streamed.resolve();
    return started(item.answerId);
  };
  peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
  const before = await left();
  const head = (line: string, more = '') => `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`;
  const socket = connect(gateway.port, '127.0.0.1');
  socket.write(head('GET /v1/users/usr_1'));
  const type = 'Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: 18\r\n';
  socket.write(`${head(`POST ${path}`, type)}{"message":"left"}`);
  await streamed.promise;
  await untilRead();
  socket.destroy();
  await until(async () => (await left()) === before + 2);
});

test('a message carries the time that is left to accept it', async () => {
  const agents = slowAgents();
  agents.letGo('short');
  expect((await post('short')).status).toBe(200);
  const { timeLeftMs = 0 } = agents.arrived[0] ?? {};
  expect(timeLeftMs).toBeGreaterThan(5_000);
  expect(timeLeftMs).toBeLessThanOrEqual(10_000);
});
