import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { seed } from '@agent-service/local/seed';
import { readCredentials } from '@agent-service/local/system/secrets';
import { testCertificate, testFolder, testSystem } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';

test('a local system whose services call each other with certificates makes its demonstration and serves', async () => {
  const folder = await testFolder();
  const { cert, key } = testCertificate();
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const tls = { GRPC_TLS_CA_FILE: certFile, GRPC_TLS_CERT_FILE: certFile, GRPC_TLS_KEY_FILE: keyFile };
  const system = await testSystem(tls, { seed });
  try {
    const live = readCredentials(join(system.dataDir, 'credentials.json'))?.api_keys.live;
    const response = await fetch(`${system.url}/v1/credits/balance`, { headers: { authorization: `Bearer ${live}` } });
    expect([response.status, await response.json()]).toMatchObject([200, { data: { balance: expect.any(Number) } }]);
  } finally {
    await system.stop();
  }
}, 120_000);
