import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { send, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { outcome, type PortalWorld, sharePortalWorld } from './portal-world.ts';

let world: PortalWorld;
beforeAll(async () => {
  world = await sharePortalWorld();
});
afterAll(() => world?.stop());

test('a session has a bounded number of requests under way, and no other session has fewer', async () => {
  const { email } = await world.makeOrganization();
  const [busy, idle] = [await world.signIn(email), await world.signIn(email)];
  const open: (() => void)[] = [];
  world.gateway.script((_request, response) => void open.push(() => response.writeHead(204).end()));
  const requests = Array.from({ length: 24 }, () => world.request('GET', '/api/live/v1/agents', busy));
  await until('24 requests wait at the gateway', async () => open.length === 24);
  expect(outcome(await world.request('GET', '/api/live/v1/agents', busy))).toBe('429 rate_limited');
  world.gateway.script((_request, response) => response.writeHead(204).end());
  expect(outcome(await world.request('GET', '/api/live/v1/agents', idle))).toBe('204');
  for (const end of open) end();
  for (const reply of await Promise.all(requests)) expect(reply.status).toBe(204);
  expect(outcome(await world.request('GET', '/api/live/v1/agents', busy))).toBe('204');
});

test('an organization with many requests leaves some to other organizations, and its streams leave some to its other requests', async () => {
  const [{ email }, other] = [await world.makeOrganization(), await world.makeOrganization()];
  const sessions: Awaited<ReturnType<typeof world.signIn>>[] = [];
  // One after the other: attempts at the same time are delayed.
  for (let n = 0; n < 9; n += 1) sessions.push(await world.signIn(email));
  const idle = await world.signIn(other.email);
  const ask = (n: number, accept: string) =>
    send(world.url, { method: 'GET', path: '/api/live/v1/agents', headers: { cookie: sessions[n % 9]?.cookie ?? '', accept } });
  for (const [busy, free] of [
    ['text/event-stream', 'application/json'],
    ['application/json', 'text/event-stream'],
  ] as const) {
    const open: (() => void)[] = [];
    const end = (response: ServerResponse) => void response.writeHead(204).end();
    world.gateway.script(({ headers }, response) => (headers.accept === busy ? void open.push(() => end(response)) : end(response)));
    const requests = Array.from({ length: 200 }, (_, n) => ask(n, busy));
    await until(`200 requests for ${busy} wait at the gateway`, async () => open.length === 200);
    for (let n = 0; n < 9; n += 1) {
      expect(outcome(await ask(n, busy))).toBe('429 rate_limited');
      expect(outcome(await ask(n, free))).toBe('204');
    }
    expect(outcome(await world.request('GET', '/api/live/v1/agents', idle))).toBe('204');
    for (const finish of open) finish();
    for (const reply of await Promise.all(requests)) expect(reply.status).toBe(204);
  }
});

test('an address that tries unknown sessions and links is refused without a look-up, and a session that was valid goes on', async () => {
  const portal = await world.open({}, { now: () => 0 });
  const { email } = await world.makeOrganization();
  const signedIn = await world.signIn(email, portal);
  const ask = (path: string, session: object = {}) => world.request('GET', path, session, undefined, portal);
  expect(outcome(await ask('/api/session', signedIn))).toBe('200');
  const guess = (n: number) => {
    const text = String(n).padStart(43, 'x');
    return n % 2 === 0
      ? ask('/api/sessions', { cookie: signedIn.cookie.replace(/=[^;]*/, `=${text}`) })
      : ask(`/api/invitations/lookup?token=${text}`);
  };
  const outcomes: string[] = [];
  for (let n = 0; n < 300; n += 1) outcomes.push(outcome(await guess(n)));
  expect(new Set(outcomes)).toEqual(new Set(['401 unauthorized', '404 not_found']));
  for (const n of [300, 301]) expect(outcome(await guess(n))).toBe('429 rate_limited');
  expect(outcome(await ask('/api/session', signedIn))).toBe('200');
  expect(outcome(await ask('/api/session'))).toBe('429 rate_limited');
});

test('a connection that has carried a reply of a gateway is closed when it is idle, like every other', async () => {
  const { email } = await world.makeOrganization();
  const portal = await world.open();
  const signedIn = await world.signIn(email, portal);
  world.gateway.script((_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}'));
  const sockets = new Set<Socket>();
  const accept = (message: unknown) => void sockets.add((message as { socket: Socket }).socket);
  diagnostics.subscribe('net.server.socket', accept);
  const agent = new Agent({ keepAlive: true });
  try {
    const call = get(`${portal}/api/live/v1/agents`, { agent, headers: { cookie: signedIn.cookie } });
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    expect(await text(response)).toBe('{"data":[]}');
    const ofPortal = [...sockets].filter(({ localPort }) => localPort === Number(new URL(portal).port));
    expect(ofPortal).toHaveLength(1);
    await until('the server has begun to count idle time', () => (ofPortal[0]?.timeout ?? 0) > 0);
  } finally {
    diagnostics.unsubscribe('net.server.socket', accept);
    agent.destroy();
  }
});

test('a request to a frozen gateway is given up soon, unless it may wait for an answer', async () => {
  const { email } = await world.makeOrganization();
  const portal = await world.open({}, { headLimitMs: 100 });
  const signedIn = await world.signIn(email, portal);
  const open: ServerResponse[] = [];
  world.gateway.script((_request, response) => void open.push(response));
  const message = world.request('POST', '/api/live/v1/agents/agt_1/messages', signedIn, { message: 'Hello' }, portal);
  await until('the message is at the gateway', () => open.length === 1);
  for (const path of ['/api/live/v1/agents', '/api/live/v1/agents/agt_1/messages/msg_1'])
    expect(outcome(await world.request('GET', path, signedIn, undefined, portal))).toBe('503 unavailable');
  open[0]?.writeHead(204).end();
  expect(outcome(await message)).toBe('204');
});
