import { expect, test } from '@jest/globals';
import { readTarget } from './replicas.ts';

test.each([
  ['ipv4:10.0.0.1:50051,10.0.0.2:50052', ['ipv4:10.0.0.1:50051', 'ipv4:10.0.0.2:50052']],
  ['ipv6:[::1]:50051', ['ipv6:[::1]:50051']],
  ['127.0.0.1:50051', ['ipv4:127.0.0.1:50051']],
  ['dns:///[::1]:50051', ['ipv6:[::1]:50051']],
  ['unix:/run/agents.sock', ['unix:/run/agents.sock']],
])('%s lists its replicas, for good', async (target, replicas) => {
  const addresses = readTarget(target);
  expect(await addresses.resolve()).toEqual(replicas);
  expect(addresses.mayChange).toBe(false);
});

test.each(['localhost:50051', 'dns:localhost:50051', 'dns:///localhost:50051'])(
  '%s has a replica at each address of the host',
  async (target) => {
    const addresses = readTarget(target);
    expect(await addresses.resolve()).toContain('ipv4:127.0.0.1:50051');
    expect(addresses).toMatchObject({ mayChange: true, hostName: 'localhost' });
  },
);

test('a host that has no address is an error', async () => {
  await expect(readTarget('dns:///nowhere.invalid:50051').resolve()).rejects.toThrow('ENOTFOUND');
});

test('a host is looked up once at a time, however long the name servers take', async () => {
  const addresses = readTarget('localhost:50051');
  const first = addresses.resolve();
  expect(addresses.resolve()).toBe(first);
  await first;
  const second = addresses.resolve();
  expect(second).not.toBe(first);
  expect(await second).toEqual(await first);
});
