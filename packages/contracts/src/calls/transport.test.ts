import { expect, test } from '@jest/globals';
import { clientCredentials, serverCredentials } from './transport.ts';

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
