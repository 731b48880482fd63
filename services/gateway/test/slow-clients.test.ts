import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { testRedis, until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectError } from './support/envelope.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { ask, sendRaw } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

const slow = apiKey('a');
const other = apiKey('b');
let peer: Peer;
let gateway: Gateway;
beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [slow]: caller('a'), [other]: caller('b') });
  gateway = await startGateway(peer, (await testRedis()).url, { RATE_LIMIT_WRITES_PER_MINUTE: '100000' });
});
afterAll(async () => {
  await gateway.stop();
  await peer.stop();
});

const head = (path: string, token: string, length: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${length}\r\n\r\n`;

async function served(route: string): Promise<number> {
  const metric = await gateway.process.metrics.registry.getSingleMetric('http_server_seconds')?.get();
  const values = (metric?.values ?? []) as { labels: Record<string, unknown>; metricName?: string; value: number }[];
  return values.find(({ labels, metricName }) => labels['route'] === route && metricName?.endsWith('_count'))?.value ?? 0;
}

describe('requests on one connection', () => {
  const get = 'GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n';

  test('are answered in order when a client pipelines some of them', async () => {
    const answers = await sendRaw(gateway.port, `${get.repeat(40)}GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(answers.match(/HTTP\/1.1 404/g)).toHaveLength(40);
    expect(answers).toMatch(/HTTP\/1.1 200 .*"alive"\}$/s);
  });

  test('are answered before bytes behind them that are no request', async () => {
    const body = '{"name":"Ada","email":"ada@example.com"}';
    // Its Content-Length leaves the last two bytes out.
    const request = `${head('/v1/users', slow, `Content-Length: ${body.length}`)}${body}\0\0`;
    const answers = await sendRaw(gateway.port, `${get}${request}`);
    expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 201', 'HTTP/1.1 400']);
    expect(answers).toMatch(/This is not a valid HTTP request[^{}]*"param":null,"details":\{\}\},"meta":\{[^{}]*\}\}$/);
  });

  test('do not keep the process busy when a client pipelines thousands: the connection is closed', async () => {
    const before = await served('unmatched');
    await sendRaw(gateway.port, get.repeat(3_000)).catch(() => '');
    expect((await served('unmatched')) - before).toBeLessThanOrEqual(50);
    expect((await ask(gateway.url, '/livez')).status).toBe(200);
  });
});

describe('a chunked body', () => {
  const chunked = (json: string, size: number) => {
    const chunks = json.match(new RegExp(`.{1,${size}}`, 'gs')) ?? [];
    return `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`;
  };
  const send = (body: string) =>
    sendRaw(gateway.port, `${head('/v1/agents', slow, 'Transfer-Encoding: chunked\r\nConnection: close')}${body}`).catch(() => '');

  test('is refused in too many chunks, before one megabyte of single bytes uses 250 MB of memory', async () => {
    expect(await send(chunked(`{"name":"${'x'.repeat(900_000)}"}`, 1))).toMatch(/^HTTP\/1.1 400 .*at most 4000 chunks/s);
  });

  test('is read in chunks of any usual size', async () => {
    const answer = await send(chunked(`{"name":"${'x'.repeat(60_000)}"}`, 20));
    expect(answer).toMatch(/^HTTP\/1.1 400 .*must have 1 to 100 characters/s);
  });
});

describe('bodies that are sent slowly', () => {
  const bodies = 64;

  test('use a limited amount of memory for one organization, and do not affect another', async () => {
    const open: Socket[] = [];
    for (let index = 0; index < bodies; index += 1) {
      const socket = connect(gateway.port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(`${head('/v1/agents', slow, 'Transfer-Encoding: chunked')}5\r\n{"a":\r\n`);
      open.push(socket);
    }
    const create = (token: string) => ask(gateway.url, '/v1/users', { method: 'POST', token, json: { name: '' } });
    await until(async () => (await create(slow)).status === 429);
    const refused = await create(slow);
    expectError(refused, 429, 'rate_limited');
    expect(refused.headers.get('retry-after')).toBe('1');
    expectError(await create(other), 400, 'invalid_request');
    for (const socket of open) socket.destroy();
    await until(async () => (await create(slow)).status === 400);
  });
});
