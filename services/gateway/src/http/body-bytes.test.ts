import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { ServiceError } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import { readBytes } from './body-bytes.ts';

test('a body that comes too slowly is refused', async () => {
  const server = createServer();
  const outcome = new Promise<ServiceError>((resolve) => {
    server.on('request', (request: IncomingMessage) => {
      readBytes(request, { bytes: 100, withinMs: 50 }).catch((cause: ServiceError) => resolve(cause));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc');
  expect((await outcome).code).toBe('request_timeout');
  socket.destroy();
  server.close();
});
