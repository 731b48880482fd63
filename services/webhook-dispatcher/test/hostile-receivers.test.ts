import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { networksSetting } from '@agent-service/outbound';
import { testCertificate } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { createReceiverAgent } from '../src/receiver-connections.ts';
import { type AttemptOutcome, send } from '../src/send.ts';

const allowed = networksSetting().parse('127.0.0.0/8');
const going = new AbortController().signal;
const attempt = { eventId: 'evt_1', body: '{}', secrets: [`whsec_${Buffer.alloc(32, 5).toString('base64')}`] };
const thanks: RequestListener = (_, response) => void response.end('thank you');

/** Sends an event to a receiver that speaks TLS 1.2. */
async function sendTo(options: ServerOptions, answer: RequestListener): Promise<AttemptOutcome> {
  const certificate = testCertificate({ keyType: 'rsa' });
  const server = createServer({ ...certificate, maxVersion: 'TLSv1.2', ...options }, answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = createReceiverAgent({ allowed, extraAuthorities: certificate.cert });
  try {
    return await send(agent, { ...attempt, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/` }, going);
  } finally {
    await agent.destroy();
    server.closeAllConnections();
    server.close();
  }
}

test('a receiver may speak TLS 1.2', async () => {
  expect(await sendTo({}, thanks)).toMatchObject({ kind: 'answered', status: 200 });
});

test('a receiver does not choose the group of a key exchange, whose size is the time that it takes', async () => {
  const ciphers = 'DHE-RSA-AES128-GCM-SHA256';
  expect(await sendTo({ ciphers, dhparam: 'auto' }, thanks)).toMatchObject({ kind: 'unanswered', reason: 'tls' });
});

test('a receiver that asks for another handshake loses its connection', async () => {
  const outcome = await sendTo({}, ({ socket }, response) => {
    (socket as TLSSocket).renegotiate({}, (error) => void response.end(error ? 'refused' : 'negotiated again'));
  });
  // By the receiver's alert or by its reset, whichever comes first.
  expect(outcome).toMatchObject({ kind: 'unanswered', reason: expect.stringMatching(/^(tls|connection)$/) });
});

const early = (count: number): RequestListener => {
  return (_, response) => {
    for (let sent = 0; sent < count; sent += 1) response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.end('thank you');
  };
};

test('a receiver may send some informational responses before its answer, but not any number', async () => {
  expect(await sendTo({}, early(10))).toMatchObject({ kind: 'answered', status: 200, body: 'thank you' });
  expect(await sendTo({}, early(1_000))).toMatchObject({ kind: 'unanswered', reason: 'protocol' });
});

test('a receiver without end to its informational responses loses its connection', async () => {
  const closed = Promise.withResolvers<void>();
  const outcome = await sendTo({}, ({ socket }) => {
    const write = () => void socket.write('HTTP/1.1 103 \r\n\r\n'.repeat(1_000));
    socket.on('drain', write).once('close', closed.resolve);
    write();
  });
  expect(outcome).toMatchObject({ kind: 'unanswered', reason: 'protocol' });
  await closed.promise;
});
