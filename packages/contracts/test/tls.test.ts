import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import { type TestCertificate, testCertificate, testFolder } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type ClientConfig, createClient, type Implementation, operators, serve } from '../src/index.ts';
import { everyMethod } from './served.ts';

const secret = { SERVICE_SECRET: ['a-service-secret-that-is-long-enough'] };
let tls: { GRPC_TLS_CERT_FILE: string; GRPC_TLS_KEY_FILE: string; GRPC_TLS_CA_FILE: string };
let peer: RunningProcess<number>;

beforeAll(async () => {
  tls = await writeCertificate(testCertificate());
  peer = await startPeer(tls);
});

afterAll(() => peer.stop());

/** Writes the files of a process; the certificate is its own authority. */
async function writeCertificate({ cert, key }: TestCertificate) {
  const folder = await testFolder();
  const files = {
    GRPC_TLS_CERT_FILE: join(folder, 'cert.pem'),
    GRPC_TLS_KEY_FILE: join(folder, 'key.pem'),
    GRPC_TLS_CA_FILE: join(folder, 'ca.pem'),
  };
  writeFileSync(files.GRPC_TLS_CERT_FILE, cert);
  writeFileSync(files.GRPC_TLS_KEY_FILE, key);
  writeFileSync(files.GRPC_TLS_CA_FILE, cert);
  return files;
}

function startPeer(files: ClientConfig, port = 0): Promise<RunningProcess<number>> {
  // Beyond this machine, which plain text would not be allowed.
  const config = { ...secret, ...files, HOST: '0.0.0.0', GRPC_PORT: port, OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 };
  const methods = everyMethod('identity', () => ({ allow: operators, handle: async () => ({}) }));
  return createProcess('peer', config as never, (process) =>
    serve(process, config as never, 'identity', methods as unknown as Implementation<'identity'>),
  );
}

const connect = (config: ClientConfig, port = peer.started) =>
  createClient('identity', { address: `dns:///localhost:${port}`, as: 'operator', config: { ...secret, ...config } });

async function ask(config: ClientConfig, port?: number): Promise<unknown> {
  const client = connect(config, port);
  return client.getOrganization({ organizationId: 'org_a' }).finally(() => client.close());
}

test('services that know each other’s authority speak TLS, each with its certificate', async () => {
  await expect(ask(tls)).resolves.toBeDefined();
});

test('a caller in plain text, or without a certificate of the authority, is not let in', async () => {
  await expect(ask({})).rejects.toMatchObject({ code: 'unavailable' });
  await expect(ask({ GRPC_TLS_CA_FILE: tls.GRPC_TLS_CA_FILE })).rejects.toMatchObject({ code: 'unavailable' });
});

test('a health check that fails has the fault of the connection as its cause', async () => {
  const client = connect({ ...tls, GRPC_TLS_CA_FILE: (await writeCertificate(testCertificate())).GRPC_TLS_CA_FILE });
  const fault = await client.checkHealth().catch((cause: unknown) => cause);
  client.close();
  expect(fault).toMatchObject({ message: 'identity is not serving', cause: { message: expect.stringMatching(/certificate/) } });
});

test('certificates that are renewed while the processes run are those of the next connections', async () => {
  const advance = fakeIntervals();
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const { former, files, server } = await startRenewable();
  const { started: port } = server;
  const client = connect(files, port);
  try {
    await client.getOrganization({ organizationId: 'org_a' });
    const renewed = testCertificate({ subject: 'renewed receivers' });
    const authorities = `${former.cert}${renewed.cert}`;

    // The files change one after the other: what is read in between does not fit together, and the connections go on with the former ones.
    writeFileSync(files.GRPC_TLS_CA_FILE, authorities);
    writeFileSync(files.GRPC_TLS_CERT_FILE, renewed.cert);
    advance();
    expect(warn).toHaveBeenLastCalledWith(expect.stringMatching(/still those read before: .*key/), { code: 'CERTIFICATES_NOT_READ' });
    await expect(ask(await writeCertificate(former), port)).resolves.toBeDefined();
    writeFileSync(files.GRPC_TLS_KEY_FILE, renewed.key);
    advance();
    await expect(ask(await writeCertificate(renewed), port)).resolves.toBeDefined();

    // A file that is gone for a moment changes nothing, and without the former authority its certificates are refused.
    rmSync(files.GRPC_TLS_CERT_FILE);
    advance();
    expect(warn).toHaveBeenLastCalledWith(expect.stringMatching(/still those read before: .*ENOENT/), { code: 'CERTIFICATES_NOT_READ' });
    writeFileSync(files.GRPC_TLS_CERT_FILE, renewed.cert);
    writeFileSync(files.GRPC_TLS_CA_FILE, renewed.cert);
    advance();
    await expect(ask(await writeCertificate(renewed), port)).resolves.toBeDefined();
    await expect(ask(await writeCertificate(former), port)).rejects.toMatchObject({ code: 'unavailable' });

    // The client was made before all that, and finds the server again that now has other certificates only.
    await server.stop();
    const next = await startPeer(await writeCertificate(renewed), port);
    await client.getOrganization({ organizationId: 'org_a' }).finally(() => next.stop());
  } finally {
    client.close();
    await server.stop();
    jest.useRealTimers();
    warn.mockRestore();
  }
});

async function startRenewable() {
  const former = testCertificate();
  const files = await writeCertificate(former);
  return { former, files, server: await startPeer(files) };
}

/** Replaces the timers that repeat. The function lets those of a minute come. */
function fakeIntervals(): () => void {
  jest.useFakeTimers({
    doNotFake: [
      'Date',
      'hrtime',
      'nextTick',
      'performance',
      'queueMicrotask',
      'setImmediate',
      'clearImmediate',
      'setTimeout',
      'clearTimeout',
    ],
  });
  return () => void jest.advanceTimersByTime(60_000);
}
