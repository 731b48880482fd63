import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Principal } from '@agent-service/contracts';
import { afterEach, expect, jest, test } from '@jest/globals';
import type { Request, Response } from 'express';
import { BufferedBytes } from './buffered-bytes.ts';
import { createCors } from './cors.ts';
import { Exchange } from './exchange.ts';
import { type Delivery, send } from './reply.ts';

const mebibyte = 1024 * 1024;
/** More than the buffers of two sockets on one machine take. */
const body = 'x'.repeat(16 * mebibyte);
const organizationId = 'org_a';

let server: Server;
let client: Socket;
afterEach(() => {
  jest.restoreAllMocks();
  client.destroy();
  server.close();
});

/** Sends one long reply, whose reader does not read it until `client` is resumed. */
async function sendUnread(more: Partial<Delivery> = {}): Promise<{ bufferedBytes: BufferedBytes; closed: Promise<unknown> }> {
  const bufferedBytes = new BufferedBytes(mebibyte);
  const sent = Promise.withResolvers<{ closed: Promise<unknown> }>();
  server = createServer((request, response) => {
    // Express adds `get` to a request.
    const exchange = new Exchange(Object.assign(request, { get: () => undefined }) as unknown as Request, response as Response, '/');
    exchange.principal = { organizationId } as Principal;
    send(exchange, { status: 200, body }, { stopping: new AbortController().signal, bufferedBytes, cors: createCors([]), ...more });
    sent.resolve({ closed: new Promise((resolve) => request.socket.once('close', resolve)) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined).pause();
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  return { bufferedBytes, ...(await sent.promise) };
}

test('the bytes of a reply that is not read, and the time to read it, count until it is read', async () => {
  const started = jest.spyOn(globalThis, 'setTimeout');
  const stopped = jest.spyOn(globalThis, 'clearTimeout');
  const readWithinMs = 100_000;
  const { bufferedBytes } = await sendUnread({ readWithinMs });
  expect([bufferedBytes.isFull(organizationId), bufferedBytes.isFull('org_b')]).toEqual([true, false]);
  let received = 0;
  for await (const chunk of client) {
    received += chunk.length;
    if (received > body.length) break;
  }
  expect(bufferedBytes.isFull(organizationId)).toBe(false);
  const timer = started.mock.results[started.mock.calls.findIndex(([, ms]) => ms === readWithinMs)]?.value;
  expect(stopped.mock.calls.some(([each]) => each !== undefined && each === timer)).toBe(true);
});

test('a reply counts no longer when its reader leaves', async () => {
  const { bufferedBytes, closed } = await sendUnread();
  client.destroy();
  await closed;
  expect(bufferedBytes.isFull(organizationId)).toBe(false);
});

test('a connection is closed if its client does not read the reply in time', async () => {
  const { bufferedBytes, closed } = await sendUnread({ readWithinMs: 20 });
  await closed;
  expect(bufferedBytes.isFull(organizationId)).toBe(false);
});
