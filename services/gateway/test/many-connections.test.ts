import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { testRedis, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { ask, sendRaw } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

const token = apiKey('a');
let peer: Peer;
let limited: Gateway;
let behindProxy: Gateway;
beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [token]: caller('a') });
  const { url } = await testRedis();
  limited = await startGateway(peer, url, { CONNECTIONS_PER_ADDRESS: '3' });
  behindProxy = await startGateway(peer, url, { CONNECTIONS_PER_ADDRESS: '3', TRUSTED_PROXIES: '127.0.0.0/8' });
});
afterAll(async () => {
  await limited.stop();
  await behindProxy.stop();
  await peer.stop();
});

async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

test('an address has a limited number of connections, and may open one when it has closed one', async () => {
  const open = [await dial(limited.port), await dial(limited.port), await dial(limited.port)];
  await expect(ask(limited.url, '/livez')).rejects.toThrow();
  open[0]?.destroy();
  await until(() =>
    ask(limited.url, '/livez').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  for (const socket of open) socket.destroy();
});

test('a trusted proxy has no such limit', async () => {
  const open = await Promise.all(Array.from({ length: 10 }, () => dial(behindProxy.port)));
  expect((await ask(behindProxy.url, '/livez')).status).toBe(200);
  for (const socket of open) socket.destroy();
});

test('too many headers are refused, and none is dropped silently', async () => {
  const headers = (count: number) => Array.from({ length: count }, (_, index) => `x${index}: 1\r\n`).join('');
  const get = (more: string) => sendRaw(behindProxy.port, `GET /v1/users HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${more}\r\n`);
  expect(await get(`Authorization: Bearer ${token}\r\n${headers(190)}`)).toMatch(/^HTTP\/1.1 200 /);
  expect(await get(`Authorization: Bearer ${token}\r\n${headers(200)}`)).toMatch(/^HTTP\/1.1 431 /);
  expect(await get(`Authorization: Bearer ${token}\r\n${'a:\r\n'.repeat(2_100)}Authorization: Bearer other\r\n`)).toMatch(
    /^HTTP\/1.1 431 /,
  );
});
