import { createServer } from 'node:net';
import { type IpNetwork, networksSetting } from '@agent-service/outbound';
import { type Receiver, type ReceiverBehaviour, receiver, sparseAnswer, testCertificate, until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { Agent } from 'undici';
import { createReceiverAgent } from '../src/receiver-connections.ts';
import { type Attempt, send } from '../src/send.ts';

const loopback = networksSetting().parse('127.0.0.0/8');
const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const going = new AbortController().signal;

let target: Receiver;
let agent: Agent;
let behaviour: ReceiverBehaviour;

beforeAll(async () => {
  target = await receiver(() => behaviour);
});
beforeEach(() => {
  behaviour = { status: 200, body: 'thank you' };
  target.requests.length = 0;
  agent = agentFor(loopback);
});
afterEach(() => agent.destroy());
afterAll(() => target.stop());

const agentFor = (allowed: readonly IpNetwork[], resolve?: () => Promise<readonly string[]>) =>
  createReceiverAgent({ allowed, extraAuthorities: target.certificate.cert, ...(resolve && { resolve }) });
const sending = (url = `${target.url}/hook?a=1`): Attempt => ({ url, eventId: 'evt_1', body: '{"id":"evt_1"}', secrets: [secret] });

test('an event is posted unchanged and signed, and the outcome has the answer', async () => {
  expect(await send(agent, sending(), going)).toMatchObject({ kind: 'answered', status: 200, body: 'thank you', retryAfterMs: 0 });
  const [request] = target.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/hook?a=1', body: '{"id":"evt_1"}' });
  expect(request?.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': 'evt_1' });
  expect(new Webhook(secret).verify(request?.body ?? '', { ...request?.headers })).toEqual({ id: 'evt_1' });
});

test('a redirect is not followed', async () => {
  behaviour = { status: 307, headers: { location: `${target.url}/elsewhere` } };
  expect(await send(agent, sending(), going)).toMatchObject({ kind: 'answered', status: 307 });
  expect(target.requests).toHaveLength(1);
});

test('16 KiB of an answer are read, and 1,024 characters returned', async () => {
  behaviour = { status: 500, body: 'x'.repeat(4 * 1024 * 1024), headers: { 'retry-after': '7' } };
  expect(await send(agent, sending(), going)).toMatchObject({ status: 500, body: 'x'.repeat(1_024), retryAfterMs: 7_000 });
});

test('an answer in chunks of one byte takes no more memory than its bytes', async () => {
  const server = await sparseAnswer('x'.repeat(1_000));
  const plain = new Agent();
  expect(await send(plain, sending(server.url), going)).toMatchObject({ kind: 'answered', body: 'x'.repeat(1_000) });
  expect(await server.heldBytes).toBeLessThan(10_000_000);
  await plain.destroy();
  server.stop();
});

test('an attempt ends at its limit if the receiver hangs before or during its answer', async () => {
  for (const each of ['hang', 'drip'] as const) {
    behaviour = each;
    const startedAt = performance.now();
    expect(await send(agent, sending(), going, 300)).toMatchObject({ kind: 'unanswered', reason: 'timeout' });
    expect(performance.now() - startedAt).toBeGreaterThan(290);
  }
});

test('a receiver whose requests were aborted no longer counts towards the limit of receivers', async () => {
  const named = await receiver(() => behaviour, testCertificate({ names: ['*.receivers.example'] }));
  const one = createReceiverAgent({
    allowed: loopback,
    extraAuthorities: named.certificate.cert,
    resolve: () => Promise.resolve(['127.0.0.1']),
    maxOrigins: 1,
  });
  const { port } = new URL(named.url);
  const long = { status: 200, body: 'x'.repeat(64 * 1024) };
  for (const [name, each] of Object.entries({ first: 'hang', second: 'drip', third: long, fourth: { status: 200 } } as const)) {
    behaviour = each;
    // The receiver before it counts until its connection has ended.
    await until(`the ${name} receiver gets a request`, async () => {
      await send(one, sending(`https://${name}.receivers.example:${port}/`), going, 300);
      return named.requests.at(-1)?.headers['host']?.startsWith(name) ?? false;
    });
  }
  await one.destroy();
  await named.stop();
});

test('connections are kept alive and reused', async () => {
  const before = target.connections;
  for (let count = 0; count < 10; count += 1) await send(agent, sending(), going);
  // The second is opened where a request comes before the first connection is known to be free again.
  expect(target.connections - before).toBeLessThanOrEqual(2);
});

test('a closed connection, a missing receiver and an unknown certificate have different reasons', async () => {
  behaviour = 'cut';
  expect(await send(agent, sending(), going)).toMatchObject({ reason: 'connection' });
  expect(await send(agent, sending('https://127.0.0.1:1/'), going)).toMatchObject({ reason: 'connection' });
  expect(await send(agent, sending('https://missing.invalid/'), going)).toMatchObject({ reason: 'name_not_found' });
  const stranger = await receiver(undefined, testCertificate());
  expect(await send(agent, sending(stranger.url), going)).toMatchObject({ reason: 'tls' });
  expect(stranger.requests).toEqual([]);
  await stranger.stop();
});

test('a server that does not speak TLS has a reason of its own', async () => {
  const noise = createServer((socket) => socket.on('error', () => undefined).end('what is this?\n'));
  await new Promise<void>((resolve) => noise.listen(0, '127.0.0.1', resolve));
  const { port } = noise.address() as { port: number };
  expect(await send(agent, sending(`https://127.0.0.1:${port}/`), going)).toMatchObject({ kind: 'unanswered', reason: 'tls' });
  noise.close();
});

test('without an allowed network nothing is sent to this machine, by address or by name', async () => {
  const closed = agentFor([]);
  const rebound = agentFor([], () => Promise.resolve(['127.0.0.1']));
  const mixed = agentFor([], () => Promise.resolve(['93.184.216.34', '::ffff:127.0.0.1']));
  const { port } = new URL(target.url);
  const before = target.connections;
  expect(await send(closed, sending(), going)).toMatchObject({ reason: 'address_refused' });
  expect(await send(closed, sending(`https://[::ffff:127.0.0.1]:${port}/`), going)).toMatchObject({ reason: 'address_refused' });
  for (const each of [rebound, mixed])
    expect(await send(each, sending(`https://public.example:${port}/`), going)).toMatchObject({ reason: 'address_refused' });
  expect(target.connections).toBe(before);
  await Promise.all([closed, rebound, mixed].map((each) => each.destroy()));
});

test('a name that resolves to another address each time is resolved once, and that address is connected to', async () => {
  const answers = [['127.0.0.1'], ['169.254.169.254']];
  let resolved = 0;
  const rebinding = agentFor(loopback, () => Promise.resolve(answers[resolved++] ?? ['10.0.0.1']));
  const { port } = new URL(target.url);
  const url = `https://localhost:${port}/`;
  expect(await send(rebinding, sending(url), going)).toMatchObject({ kind: 'answered', status: 200 });
  expect(resolved).toBe(1);
  await rebinding.destroy();
});

test('a process that stops returns its unfinished attempts', async () => {
  behaviour = 'hang';
  const stop = new AbortController();
  const sent = send(agent, sending(), stop.signal);
  stop.abort();
  expect(await sent).toEqual({ kind: 'stopped' });
});
