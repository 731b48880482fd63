import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Principal } from '@agent-service/contracts';
import { afterEach, expect, test } from '@jest/globals';
import type { Request, Response } from 'express';
import { createCors } from './cors.ts';
import { Exchange } from './exchange.ts';
import { HeldBytes } from './held-bytes.ts';
import { type Delivery, send } from './reply.ts';

const mebibyte = 1024 * 1024;
/** More than the buffers of two sockets on one machine take. */
const body = 'x'.repeat(16 * mebibyte);
const organizationId = 'org_a';

let server: Server;
let client: Socket;
afterEach(() => {
  client.destroy();
  server.close();
});

/** Sends one long answer, whose reader does not read it until `client` is resumed. */
async function answer(more: Partial<Delivery> = {}): Promise<{ heldBytes: HeldBytes; closed: Promise<unknown> }> {
  const heldBytes = new HeldBytes(mebibyte);
  const sent = Promise.withResolvers<{ closed: Promise<unknown> }>();
  server = createServer((request, response) => {
    // Express adds `get` to a request.
    const exchange = new Exchange(Object.assign(request, { get: () => undefined }) as unknown as Request, response as Response, '/');
    exchange.principal = { organizationId } as Principal;
    send(exchange, { status: 200, body }, { stopping: new AbortController().signal, heldBytes, cors: createCors([]), ...more });
    sent.resolve({ closed: new Promise((resolve) => request.socket.once('close', resolve)) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined).pause();
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  return { heldBytes, ...(await sent.promise) };
}

test('an answer that is not read counts as held until it is', async () => {
  const { heldBytes } = await answer();
  expect([heldBytes.isFull(organizationId), heldBytes.isFull('org_b')]).toEqual([true, false]);
  let received = 0;
  for await (const chunk of client) {
    received += chunk.length;
    if (received > body.length) break;
  }
  expect(heldBytes.isFull(organizationId)).toBe(false);
});

test('an answer counts no longer when its reader leaves', async () => {
  const { heldBytes, closed } = await answer();
  client.destroy();
  await closed;
  expect(heldBytes.isFull(organizationId)).toBe(false);
});

test('a connection is closed if its client does not read the answer in time', async () => {
  const { heldBytes, closed } = await answer({ readWithinMs: 20 });
  await closed;
  expect(heldBytes.isFull(organizationId)).toBe(false);
});
