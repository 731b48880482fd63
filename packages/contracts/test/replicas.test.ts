import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import { until } from '@agent-service/testkit';
import {
  ChannelCredentials,
  type handleUnaryCall,
  type MethodDefinition,
  Client as RpcClient,
  Server as RpcServer,
  ServerCredentials,
  status,
} from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { staleCallError } from '../src/calls/wire.ts';
import { loadService } from '../src/catalogue.ts';
import { type Client, type ClientConfig, createClient, type Implementation, serve, services } from '../src/index.ts';
import { config, everyMethod } from './served.ts';

/** A replica behind a proxy that can stop passing anything on, as a frozen process does, with its connections open. */
interface TestReplica {
  readonly port: number;
  readonly calls: string[];
  /** Bytes that callers have sent to it since it was frozen. */
  readonly heldBytes: number;
  freeze(): void;
  thaw(): void;
  /** Says with its health whether it serves worse than another replica may. */
  impair(isImpaired: boolean): void;
  stop(): Promise<void>;
}

async function replica(): Promise<TestReplica> {
  const calls: string[] = [];
  const note = (name: string) => async () => {
    calls.push(name);
    return {};
  };
  const implementation = everyMethod('credits', (name) => ({ allow: services('agents', 'gateway'), handle: note(name) }));
  let isImpaired = false;
  const running: RunningProcess<number> = await createProcess('replica', config, (process) => {
    process.health.addImpairment(() => isImpaired);
    return serve(process, config as never, 'credits', implementation as unknown as Implementation<'credits'>);
  });
  const sockets = new Set<Socket>();
  let isFrozen = false;
  let heldWrites: (() => void)[] = [];
  let heldBytes = 0;
  const proxy: Server = createServer((inward) => {
    const outward = connect(running.started, '127.0.0.1');
    for (const [from, to] of [
      [inward, outward],
      [outward, inward],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.on('data', (chunk) => {
        if (!isFrozen) return void to.write(chunk);
        heldWrites.push(() => to.write(chunk));
        if (from === inward) heldBytes += chunk.length;
      });
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    port: (proxy.address() as { port: number }).port,
    calls,
    get heldBytes() {
      return heldBytes;
    },
    freeze() {
      isFrozen = true;
      heldBytes = 0;
    },
    thaw() {
      isFrozen = false;
      for (const write of heldWrites) write();
      heldWrites = [];
    },
    impair(isNowImpaired) {
      isImpaired = isNowImpaired;
    },
    async stop() {
      if (!proxy.listening) return;
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await running.stop();
    },
  };
}

let first: TestReplica;
let second: TestReplica;
let client: Client<'credits'>;

beforeEach(async () => {
  [first, second] = await Promise.all([replica(), replica()]);
  const address = `ipv4:127.0.0.1:${first.port},127.0.0.1:${second.port}`;
  client = createClient('credits', { address, as: 'agents', config: config as unknown as ClientConfig });
  // Both are connected and have said that they serve.
  while (first.calls.length === 0 || second.calls.length === 0) {
    await client.settle({ items: [] });
    await pause(10);
  }
});

afterEach(async () => {
  client.close();
  await Promise.all([first.stop(), second.stop()]);
});

test('a silent replica fails no idempotent call, is left out, and comes back by itself', async () => {
  first.freeze();
  await Promise.all(Array.from({ length: 20 }, () => client.settle({ items: [] })));
  const before = first.calls.length;
  const bytesBefore = first.heldBytes;
  for (let call = 0; call < 20; call += 1) await client.settle({ items: [] });
  // As many calls sent it half of theirs while it was not known to be silent. Now it gets pings and the ends of those calls.
  expect(first.heldBytes - bytesBefore).toBeLessThan(bytesBefore / 2);
  first.thaw();
  while (first.calls.length <= before + 10) {
    await client.settle({ items: [] });
    await pause(10);
  }
});

test('a proxy that the environment names gets no calls', async () => {
  const proxy = jest.replaceProperty(process, 'env', { ...process.env, https_proxy: 'http://127.0.0.1:1' });
  const address = `ipv4:127.0.0.1:${first.port}`;
  const direct = createClient('credits', { address, as: 'agents', config: config as unknown as ClientConfig });
  try {
    await expect(direct.hold({ items: [] })).resolves.toBeDefined();
  } finally {
    proxy.restore();
    direct.close();
  }
});

test('a call that is not idempotent goes to the replica that answers, once the other is known to be silent', async () => {
  first.freeze();
  await client.settle({ items: [] });
  await client.settle({ items: [] });
  while (client.replicas().join() !== `ipv4:127.0.0.1:${second.port}`) await pause(10);
  const before = second.calls.length;
  for (let call = 0; call < 10; call += 1) await client.setAllocation({});
  expect(second.calls.length - before).toBe(10);
});

test('a service is reachable while one of its replicas answers', async () => {
  first.freeze();
  await until('one is known to be silent', () => client.replicas().length === 1);
  expect(client.isReachable()).toBe(true);
  second.freeze();
  await until('both are known to be silent', () => !client.isReachable());
  first.thaw();
  await until('one answers again', () => client.isReachable());
});

test('an impaired replica gets calls while no other serves', async () => {
  const isLeftOut = async () => {
    const before = first.calls.length;
    for (let call = 0; call < 10; call += 1) await client.settle({ items: [] });
    return first.calls.length === before;
  };
  first.impair(true);
  await until('it is left out', isLeftOut);
  expect(client.replicas()).toHaveLength(2);
  second.impair(true);
  await until('both are alike', async () => !(await isLeftOut()));
  second.impair(false);
  await until('it is left out again', isLeftOut);
  second.freeze();
  const before = first.calls.length;
  await client.settle({ items: [] });
  expect(first.calls.length).toBeGreaterThan(before);
});

test('what a silent replica reads after its deadline does not happen there', async () => {
  const before = first.calls.length;
  first.freeze();
  await Promise.all(Array.from({ length: 20 }, () => client.settle({ items: [] }, { timeoutMs: 2_000 })));
  await pause(2_100);
  first.thaw();
  while (first.calls.length === before) {
    await client.settle({ items: [] });
    await pause(10);
  }
  // Only calls that were made after the thaw have been handled.
  expect(first.calls.length - before).toBeLessThan(5);
});

test('a call that is not idempotent goes to another replica where the first cannot be connected to, and runs once', async () => {
  // Without a difference between the two, the second of the list is called first.
  const address = `ipv4:127.0.0.1:${second.port},127.0.0.1:${first.port}`;
  await first.stop();
  while (client.replicas().join() !== `ipv4:127.0.0.1:${second.port}`) await client.settle({ items: [] });
  // A client that has made no call yet knows neither replica.
  for (let number = 1; number <= 4; number += 1) {
    const fresh = createClient('credits', { address, as: 'agents', config: config as unknown as ClientConfig });
    for (const _ of ['one', 'two']) await fresh.setAllocation({});
    fresh.close();
  }
  expect(second.calls.filter((name) => name === 'setAllocation')).toHaveLength(8);
});

test('a stopped replica gets no further calls', async () => {
  await first.stop();
  for (let call = 0; call < 20; call += 1) await client.settle({ items: [] });
  for (let call = 0; call < 20; call += 1) await client.setAllocation({});
  expect(second.calls.filter((name) => name === 'setAllocation')).toHaveLength(20);
});

test('a client that is closed while a call learns its challenge fails the call, and throws nowhere else', async () => {
  const address = `ipv4:127.0.0.1:${first.port}`;
  for (let delayMs = 0; delayMs < 12; delayMs += 1) {
    const closing = createClient('credits', { address, as: 'agents', config: config as unknown as ClientConfig });
    const outcome = closing.setAllocation({}).then(
      () => 'done',
      (cause: { code: string }) => cause.code,
    );
    await pause(delayMs);
    closing.close();
    expect(['done', 'unavailable', 'cancelled']).toContain(await outcome);
  }
});

test('a call that is refused under the challenge that its server sent is not signed a third time', async () => {
  let received = 0;
  const server = new RpcServer();
  const refuse: handleUnaryCall<unknown, unknown> = (_call, reply) => {
    received += 1;
    reply(staleCallError(`challenge-${received}`));
  };
  server.addService({ UpdateUser: loadService('identity')['UpdateUser'] as MethodDefinition<unknown, unknown> }, { UpdateUser: refuse });
  const port = await new Promise((resolve) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, bound) => resolve(bound)),
  );
  const refused = createClient('identity', {
    address: `ipv4:127.0.0.1:${port}`,
    as: 'gateway',
    config: config as unknown as ClientConfig,
  });
  await expect(refused.updateUser({})).rejects.toMatchObject({ code: 'internal' });
  expect(received).toBe(2);
  refused.close();
  server.forceShutdown();
});

test('a health check that is signed under an unknown secret is refused, and one without a signature is answered', async () => {
  const unknown = { ...config, SERVICE_SECRET: ['another-secret-that-is-long-enough'] } as unknown as ClientConfig;
  const clock = { sample: jest.fn() };
  const stranger = createClient('credits', { address: `ipv4:127.0.0.1:${first.port}`, as: 'gateway', config: unknown, clock });
  const fault = await stranger.checkHealth().catch((cause: unknown) => cause);
  // It waits for the time, and takes no jobs whose calls would all be refused.
  expect(clock.sample).not.toHaveBeenCalled();
  stranger.close();
  expect(fault).toMatchObject({
    message: 'credits is not serving',
    cause: { code: status.UNAUTHENTICATED, message: expect.stringContaining('SERVICE_SECRET') },
  });
  const unsigned = new RpcClient(`127.0.0.1:${first.port}`, ChannelCredentials.createInsecure());
  const bytes = (value: Buffer) => value;
  const { promise, resolve } = Promise.withResolvers<unknown>();
  unsigned.makeUnaryRequest('/grpc.health.v1.Health/Check', bytes, bytes, Buffer.alloc(0), (error, response) => resolve(error ?? response));
  expect(await promise).toBeInstanceOf(Buffer);
  unsigned.close();
});

test('a signature is refused while each replica that has said a word refuses it, and not by silence', async () => {
  const unknown = { ...config, SERVICE_SECRET: ['another-secret-that-is-long-enough'] } as unknown as ClientConfig;
  const own = unknown as unknown as typeof config;
  const implementation = everyMethod('credits', () => ({ allow: services('gateway'), handle: async () => ({}) }));
  const knowing = await createProcess('replica', own as never, (process) =>
    serve(process, own as never, 'credits', implementation as unknown as Implementation<'credits'>),
  );
  const outcomeOf = async (...ports: number[]) => {
    const address = `ipv4:${ports.map((port) => `127.0.0.1:${port}`).join()}`;
    const caller = createClient('credits', { address, as: 'gateway', config: unknown });
    await until('each is asked', async () => {
      await caller.checkHealth().catch(() => undefined);
      return !ports.includes(knowing.started) || caller.replicas().includes(`ipv4:127.0.0.1:${knowing.started}`);
    });
    const fault = await caller.checkSignature().catch((cause: unknown) => cause);
    caller.close();
    return fault;
  };
  const refused = {
    message: 'credits refuses the calls of this process',
    cause: { code: status.UNAUTHENTICATED, message: expect.stringContaining('SERVICE_SECRET') },
  };
  expect(await outcomeOf(first.port)).toMatchObject(refused);
  expect(await outcomeOf(first.port, 1)).toMatchObject(refused);
  expect(await outcomeOf(1)).toBeUndefined();
  expect(await outcomeOf(knowing.started)).toBeUndefined();
  expect(await outcomeOf(first.port, knowing.started)).toBeUndefined();
  second.freeze();
  expect(await outcomeOf(second.port)).toBeUndefined();
  await knowing.stop();
});

test('health checks pass in each step of a rotation, beside processes of the step before', async () => {
  const [former, next] = [...config.SERVICE_SECRET, 'the-next-secret-that-is-long-enough'] as [string, string];
  const steps = [[former], [former, next], [next, former], [next]];
  for (const [step, secrets] of steps.entries()) {
    const own = { ...config, SERVICE_SECRET: secrets };
    const implementation = everyMethod('credits', () => ({ allow: services('gateway'), handle: async () => ({}) }));
    const server = await createProcess('replica', own as never, (process) =>
      serve(process, own as never, 'credits', implementation as unknown as Implementation<'credits'>),
    );
    for (const secretsOfCaller of steps.slice(Math.max(0, step - 1), step + 2)) {
      const callerConfig = { ...config, SERVICE_SECRET: secretsOfCaller } as unknown as ClientConfig;
      const caller = createClient('credits', { address: `ipv4:127.0.0.1:${server.started}`, as: 'gateway', config: callerConfig });
      await until('it serves', () =>
        caller.checkHealth().then(
          () => true,
          () => false,
        ),
      );
      caller.close();
    }
    await server.stop();
  }
});
