import { once } from 'node:events';
import { connect } from 'node:http2';
import { promisify } from 'node:util';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { clientCredentials, serverCredentials, serverOptions } from './transport.ts';

const onThisMachine = [
  '127.0.0.1:50051',
  'ipv4:127.0.0.1:1,127.0.0.2:2',
  'dns:///localhost:50051',
  'localhost:1',
  'ipv6:[::1]:1',
  'unix:/tmp/x',
];
const beyond = [
  '10.0.0.1:50051',
  'ipv4:127.0.0.1:1,10.0.0.2:2',
  'dns:///identity:50051',
  'identity:50051',
  'ipv6:[fd00::1]:1',
  '127.0.0.1.example:1',
];

test('calls leave this machine in plain text only where the settings say so', () => {
  for (const address of onThisMachine) expect(() => clientCredentials({}, address)).not.toThrow();
  for (const address of beyond) {
    expect(() => clientCredentials({}, address)).toThrow(/GRPC_ALLOW_PLAINTEXT: calls of .* would leave this machine in plain text/);
    expect(() => clientCredentials({ GRPC_ALLOW_PLAINTEXT: true }, address)).not.toThrow();
  }
});

test('a service listens beyond this machine in plain text only where the settings say so', () => {
  for (const HOST of ['127.0.0.1', '::1', 'localhost']) expect(() => serverCredentials({ HOST })).not.toThrow();
  for (const HOST of ['0.0.0.0', '::', '10.0.0.1']) {
    expect(() => serverCredentials({ HOST })).toThrow(/GRPC_ALLOW_PLAINTEXT: gRPC on .* would be reachable/);
    expect(() => serverCredentials({ HOST, GRPC_ALLOW_PLAINTEXT: true })).not.toThrow();
  }
});

test('a connection has at most 1,000 calls open at once, and further ones when these end', async () => {
  const server = new Server(serverOptions);
  const bytes = (value: Buffer) => value;
  const path = '/test.Test/Open';
  const serialization = { requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes, responseDeserialize: bytes };
  let opened = 0;
  const Open = () => {
    opened += 1;
  };
  server.addService({ Open: { path, requestStream: true, responseStream: true, ...serialization } }, { Open });
  const bindAsync = promisify((done: (error: Error | null, port: number) => void) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), done),
  );
  const session = connect(`http://127.0.0.1:${await bindAsync()}`);
  const ping = promisify((done: (error: Error | null) => void) => void session.ping((error) => done(error)));
  try {
    await once(session, 'remoteSettings');
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
    const calls = Array.from({ length: 1_500 }, () => session.request(headers).on('error', () => undefined));
    await ping();
    await ping();
    expect(opened).toBe(1_000);
    for (const call of calls.slice(0, 100)) call.close();
    while (opened < 1_100) await ping();
    await ping();
    expect(opened).toBe(1_100);
  } finally {
    session.destroy();
    server.forceShutdown();
  }
});
