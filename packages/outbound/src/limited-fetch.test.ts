import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { limitedFetch } from './limited-fetch.ts';

async function withServer<T>(listener: RequestListener, work: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const get = limitedFetch(1_000);
const zeros = (bytes: number) => gzipSync(Buffer.alloc(bytes));

test('an answer within the limit is returned as it is, in any coding', async () => {
  const headers = { 'content-type': 'text/plain', 'content-encoding': 'gzip' };
  await withServer(
    (_, response) => void response.writeHead(201, headers).end(zeros(1_000)),
    async (url) => {
      const response = await get(url);
      expect([response.status, response.headers.get('content-type')]).toEqual([201, 'text/plain']);
      expect((await response.arrayBuffer()).byteLength).toBe(1_000);
    },
  );
  await withServer(
    (_, response) => void response.writeHead(204).end(),
    async (url) => expect((await get(url)).status).toBe(204),
  );
});

test('an answer that is larger after it was decompressed is refused', async () => {
  await withServer(
    (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(zeros(1_001)),
    (url) => expect(get(url)).rejects.toThrow('larger than 1000 bytes'),
  );
});

test('an answer without end is refused, and its connection closed', async () => {
  const closed = Promise.withResolvers<void>();
  await withServer(
    (_, response) => {
      response.on('close', closed.resolve);
      Readable.from(endless()).pipe(response);
    },
    async (url) => {
      await expect(get(url)).rejects.toThrow('larger than 1000 bytes');
      await closed.promise;
    },
  );
});

function* endless() {
  for (;;) yield 'x'.repeat(10_000);
}
