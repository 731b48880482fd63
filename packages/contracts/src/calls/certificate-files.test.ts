import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testCertificate, testFolder } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { CertificateFiles } from './certificate-files.ts';

test('the first listener after a time without any gets the files as they are then', async () => {
  const file = join(await testFolder(), 'ca.pem');
  const [former, renewed] = [testCertificate(), testCertificate()];
  writeFileSync(file, former.cert);
  const files = new CertificateFiles({ GRPC_TLS_CA_FILE: file });
  expect(await authorityOf(files)).toBe(former.cert);
  writeFileSync(file, renewed.cert);
  expect(await authorityOf(files)).toBe(renewed.cert);
});

/** Listens until it has been told once. */
function authorityOf(files: CertificateFiles): Promise<string | undefined> {
  return new Promise((resolve) => {
    const listener = (update: { caCertificate: Buffer } | null) => {
      files.removeCaCertificateListener(listener);
      resolve(update?.caCertificate.toString());
    };
    files.addCaCertificateListener(listener);
  });
}
