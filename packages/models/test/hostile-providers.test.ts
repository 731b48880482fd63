import { once } from 'node:events';
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
