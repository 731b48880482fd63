import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { closeServer, listen } from './listen.ts';

const answerBytes = 16 * 1024 * 1024;

let server: Server;
let client: Socket;

/** A server that answers with `answer`, and a client with a connection. */
async function start(answer: (response: ServerResponse) => void): Promise<void> {
  server = createServer({ keepAliveTimeout: 75_000 }, (_request, response) => answer(response));
  client = connect(await listen(server, '127.0.0.1', 0), '127.0.0.1');
  await Promise.all([once(client, 'connect'), once(server, 'connection')]);
}

async function request(): Promise<ServerResponse> {
  const received = once(server, 'request') as Promise<[unknown, ServerResponse]>;
  client.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n');
  return (await received)[1];
}

afterEach(() => {
  client.destroy();
  server.closeAllConnections();
});

test('an answer that its client has not read yet is sent whole before the server is closed', async () => {
  await start((response) => void response.writeHead(200, { 'Content-Length': answerBytes }).end(Buffer.alloc(answerBytes)));
  await request();
  const closed = closeServer(server);
  let received = 0;
  client.on('data', (chunk: Buffer) => void (received += chunk.length));
  await closed;
  if (!client.closed) await once(client, 'close');
  expect(received).toBeGreaterThan(answerBytes);
});

test('a connection that has sent nothing is closed', async () => {
  await start(() => undefined);
  await closeServer(server);
});

test('the first request of a connection that has just begun is still answered', async () => {
  await start((response) => void response.end('late'));
  const closed = closeServer(server);
  // After the first look for connections without a request.
  await new Promise((resolve) => setImmediate(resolve));
  const received = once(client, 'data') as Promise<[Buffer]>;
  await request();
  expect((await received).toString()).toMatch(/late$/);
  await closed;
});

test('a connection is closed when its answer ends, also if the answer began before', async () => {
  await start((response) => void response.writeHead(200).write('beginning'));
  const response = await request();
  client.resume();
  const closed = closeServer(server);
  response.end('end');
  await closed;
});
