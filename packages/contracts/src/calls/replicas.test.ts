import { connectivityState, credentials } from '@grpc/grpc-js';
import { afterEach, expect, jest, test } from '@jest/globals';
import { type Replica, ReplicaSet, readTarget } from './replicas.ts';

let replicas: ReplicaSet | undefined;

function createReplicas(
  resolve: () => Promise<string[]>,
  { mayChange = false, check = async (_: Replica): Promise<void> => undefined } = {},
) {
  replicas = new ReplicaSet({
    addresses: { resolve, mayChange },
    credentials: credentials.createInsecure(),
    options: {},
    check,
    isCheckedFirst: false,
  });
  return replicas;
}

afterEach(() => {
  jest.useRealTimers();
  replicas?.close();
});

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

const [first, second] = ['ipv4:127.0.0.1:1', 'ipv4:127.0.0.1:2'] as const;

test('addresses that could not be resolved are resolved again for the next call', async () => {
  let isKnown = false;
  const set = createReplicas(async () => (isKnown ? [first] : Promise.reject(new Error('ENOTFOUND'))));
  expect(set.isReachable).toBe(true);
  await expect(set.start()).rejects.toMatchObject({ code: 'unavailable' });
  expect(set.isReachable).toBe(false);
  isKnown = true;
  await set.start();
  expect([set.serving(), set.isReachable]).toEqual([[first], true]);
});

test('a client that is closed while its addresses are resolved opens no connection', async () => {
  const resolving = Promise.withResolvers<string[]>();
  const set = createReplicas(() => resolving.promise);
  const starting = set.start();
  set.close();
  resolving.resolve([first]);
  await expect(starting).rejects.toMatchObject({ code: 'unavailable' });
  expect(set.find(first)).toBeUndefined();
});

test('the connection to a replica that is no longer among the addresses is closed', async () => {
  jest.useFakeTimers();
  let addresses: string[] = [first, second];
  const set = createReplicas(async () => addresses, { mayChange: true });
  await set.start();
  const removed = set.find(first) as Replica;
  addresses = [second];
  await jest.advanceTimersByTimeAsync(6_000);
  expect(set.serving()).toEqual([second]);
  expect(removed.channel.getConnectivityState(false)).toBe(connectivityState.SHUTDOWN);
});

test('a replica has one health check at a time, and none after the client was closed', async () => {
  const checks: Replica[] = [];
  const checking = Promise.withResolvers<void>();
  const set = createReplicas(async () => [first], {
    check: (replica) => {
      checks.push(replica);
      return checking.promise;
    },
  });
  await set.start();
  const replica = set.find(first) as Replica;
  void set.check(replica);
  expect(checks).toHaveLength(1);
  checking.resolve();
  await Promise.resolve();
  await set.check(replica);
  expect(checks).toHaveLength(2);
  set.close();
  await set.check(replica);
  expect(checks).toHaveLength(2);
});

test('a replica that serves is asked for its health every two seconds, and an impaired one twice a second', async () => {
  jest.useFakeTimers();
  const checked: string[] = [];
  const set = createReplicas(async () => [first, second], { check: async ({ target }) => void checked.push(target) });
  await set.start();
  (set.find(first) as Replica).isImpaired = true;
  await jest.advanceTimersByTimeAsync(4_000);
  const countOf = (target: string) => checked.filter((each) => each === target).length;
  expect([countOf(first), countOf(second)]).toEqual([9, 3]);
});

test('a call goes to the replica with the fewest calls in flight, and to none that has a thousand', async () => {
  const set = createReplicas(async () => [first, second]);
  await set.start();
  const [one, other] = [set.find(first), set.find(second)] as [Replica, Replica];
  one.inFlight = 1;
  expect([set.pick(), set.pick(), set.pick()]).toEqual([other, other, other]);
  other.inFlight = 1_000;
  expect(set.pick()).toBe(one);
  one.inFlight = 1_000;
  expect(set.pick()).toBeUndefined();
});
