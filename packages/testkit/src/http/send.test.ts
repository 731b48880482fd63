import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { send } from './send.ts';

async function serving<T>(listener: RequestListener, work: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

test('a request without an answer is named, and on a new connection not sent again', async () => {
  let requests = 0;
  const silent: RequestListener = (request) => {
    requests++;
    request.socket.destroy();
  };
  await serving(silent, async (url) => {
    const failed = send(url, { method: 'POST', path: '/v1/users?x=1', body: `{"name":"${'x'.repeat(500)}"}` });
    await expect(failed).rejects.toThrow(/^no answer to POST \/v1\/users\?x=1 \{"name":"x{191}: socket hang up$/);
  });
  expect(requests).toBe(1);
});

test('a request that met the end of a kept connection is sent once more', async () => {
  let requests = 0;
  const closing: RequestListener = (request, response) => {
    requests++;
    if (requests === 2) request.socket.destroy();
    else response.end(String(requests));
  };
  await serving(closing, async (url) => {
    expect((await send(url, { method: 'GET', path: '/' })).text).toBe('1');
    expect((await send(url, { method: 'GET', path: '/' })).text).toBe('3');
  });
});
