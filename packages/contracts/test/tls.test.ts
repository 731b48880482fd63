import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import { testCertificate, testFolder } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { loadService } from '../src/catalogue.ts';
import { type ClientConfig, createClient, type Implementation, operators, serve } from '../src/index.ts';

const secret = { SERVICE_SECRET: ['a-service-secret-that-is-long-enough'] };
let tls: { GRPC_TLS_CERT_FILE: string; GRPC_TLS_KEY_FILE: string; GRPC_TLS_CA_FILE: string };
let peer: RunningProcess<number>;

beforeAll(async () => {
  const folder = await testFolder();
  const { cert, key } = testCertificate();
  tls = {
    GRPC_TLS_CERT_FILE: join(folder, 'cert.pem'),
    GRPC_TLS_KEY_FILE: join(folder, 'key.pem'),
    GRPC_TLS_CA_FILE: join(folder, 'cert.pem'),
  };
  writeFileSync(tls.GRPC_TLS_CERT_FILE, cert);
  writeFileSync(tls.GRPC_TLS_KEY_FILE, key);
  // Beyond this machine, which plain text would not be allowed.
  const config = { ...secret, ...tls, HOST: '0.0.0.0', GRPC_PORT: 0, OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 };
  const names = Object.keys(loadService('identity').service).map((name) => name.charAt(0).toLowerCase() + name.slice(1));
  const methods = Object.fromEntries(names.map((name) => [name, { allow: operators, handle: async () => ({}) }]));
  peer = await createProcess('peer', config as never, (process) =>
    serve(process, config as never, 'identity', methods as unknown as Implementation<'identity'>),
  );
});

afterAll(() => peer.stop());

async function ask(config: ClientConfig): Promise<unknown> {
  const client = createClient('identity', {
    address: `dns:///localhost:${peer.started}`,
    as: 'operator',
    config: { ...secret, ...config },
  });
  return client.getOrganization({ organizationId: 'org_a' }).finally(() => client.close());
}

test('services that know each other’s authority speak TLS, each with its certificate', async () => {
  await expect(ask(tls)).resolves.toBeDefined();
});

test('a caller in plain text, or without a certificate of the authority, is not let in', async () => {
  await expect(ask({})).rejects.toMatchObject({ code: 'unavailable' });
  await expect(ask({ GRPC_TLS_CA_FILE: tls.GRPC_TLS_CA_FILE })).rejects.toMatchObject({ code: 'unavailable' });
});
