import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { spareContent, twoEndpoints } from './endpoints.ts';
import { ask } from './harness.ts';

const endpoints = twoEndpoints();

test('no cipher is offered with which the server chooses the group of the key exchange', async () => {
  const ciphers = 'DHE-RSA-AES128-GCM-SHA256';
  const server = createServer({ ...testCertificate({ keyType: 'rsa' }), maxVersion: 'TLSv1.2', ciphers, dhparam: 'auto' });
  const refused = Promise.race([once(server, 'tlsClientError'), once(server, 'secureConnection')]);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { models } = endpoints.open({ endpoint: { baseUrl: `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1` } });
  expect(await ask(models)).toMatchObject({ content: spareContent });
  // Before the certificate, which is of an unknown authority, could be judged.
  expect(await refused).toMatchObject([{ code: 'ERR_SSL_NO_SHARED_CIPHER' }, {}]);
  server.close();
});

test.each([
  { count: 10, content: 'All went well.' },
  { count: 1_000, content: spareContent },
])('informational responses before an answer are skipped, but not any number: $count', async ({ count, content }) => {
  const server = createHttpServer((_, response) => {
    for (let sent = 0; sent < count; sent += 1) response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.end(JSON.stringify({ choices: [{ message: { content: 'All went well.' }, finish_reason: 'stop' }] }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { models } = endpoints.open({ endpoint: { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` } });
  expect(await ask(models)).toMatchObject({ content });
  server.closeAllConnections();
  server.close();
});
