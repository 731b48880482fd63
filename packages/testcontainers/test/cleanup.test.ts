// Starts and stops of containers that are plain objects, so that no Docker engine is needed.
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';

const removed = Object.assign(new Error('No such container'), { statusCode: 404 });
/** The failures of parts when they start and stop, by the name of their image, and what has happened. */
let failures: { start?: Record<string, Error>; stop?: Record<string, Error> } = {};
let stopped: string[] = [];
let environments: Record<string, string>[] = [];
let waits: unknown[] = [];
let copies: unknown[] = [];

class FakeContainer {
  readonly #name: string;
  constructor(name: string) {
    this.#name = name;
    for (const method of ['ExposedPorts', 'WaitStrategy', 'StartupTimeout', 'Network', 'NetworkAliases', 'Command', 'Database'])
      Object.assign(this, { [`with${method}`]: () => this });
  }
  withEnvironment(values: Record<string, string>): this {
    environments.push(values);
    return this;
  }
  withCopyContentToContainer(contents: unknown[]): this {
    copies.push(...contents);
    return this;
  }
  async start() {
    const failure = failures.start?.[this.#name];
    if (failure) throw failure;
    const text = () => this.#name;
    const addresses = { getHost: () => '127.0.0.1', getMappedPort: () => 9, getUsername: text, getPassword: text, getDatabase: text };
    return { ...addresses, stop: stopOf(this.#name) };
  }
}

const stopOf = (name: string) => async () => {
  stopped.push(name);
  const failure = failures.stop?.[name];
  if (failure) throw failure;
};

jest.unstable_mockModule('testcontainers', () => ({
  GenericContainer: FakeContainer,
  TestContainers: {},
  Network: class {
    start = async () => ({ stop: stopOf('network') });
  },
  Wait: {
    forHttp: (...words: unknown[]) => ({ forStatusCode: (status: number) => void waits.push([...words, status]) }),
    forListeningPorts: () => ({}),
  },
}));
jest.unstable_mockModule('@testcontainers/postgresql', () => ({ PostgreSqlContainer: FakeContainer }));
const { AgentServiceContainer, startComposition } = await import('../src/index.ts');

const start = () => startComposition({ postgresImage: 'postgres', redisImage: 'redis', service: new AgentServiceContainer('service') });

beforeEach(() => {
  [failures, stopped, environments, waits, copies] = [{}, [], [], [], []];
  jest.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.json({ api_keys: {} }));
});
afterEach(() => void jest.restoreAllMocks());

test('every part of a composition is stopped, also one that fails to stop or that the test has stopped', async () => {
  const composition = await start();
  failures = { stop: { redis: removed } };
  await composition.stop();
  expect(stopped.toSorted()).toEqual(['network', 'postgres', 'redis', 'service']);
  stopped = [];
  const failure = new Error('The engine does not answer.');
  failures = { stop: { service: failure, redis: removed } };
  await expect(composition.stop()).rejects.toBe(failure);
  expect(stopped.toSorted()).toEqual(['network', 'postgres', 'redis', 'service']);
});

test('a start that fails reports its own failure, and stops what has started', async () => {
  const failure = new Error('no image');
  failures = { start: { service: failure }, stop: { redis: new Error('The engine does not answer.') } };
  await expect(start()).rejects.toBe(failure);
  expect(stopped.toSorted()).toEqual(['network', 'postgres', 'redis']);
  stopped = [];
  jest.spyOn(globalThis, 'fetch').mockRejectedValue(failure);
  failures = { stop: { service: removed } };
  await expect(new AgentServiceContainer('service').start()).rejects.toBe(failure);
  expect(stopped).toEqual(['service']);
});

test('every rate limit of the service is lifted', async () => {
  await new AgentServiceContainer('service').start();
  const settings = readFileSync('docs/reference/settings.md', 'utf8');
  const limits = [...settings.matchAll(/^\| `(RATE_LIMIT_\w+_PER_MINUTE)`/gm)].map(([, name = '']) => name);
  expect(limits.length).toBeGreaterThan(4);
  expect(environments[0]).toMatchObject(Object.fromEntries(limits.map((name) => [name, '1000000'])));
});

test('a container that ends while it starts is not waited for', async () => {
  await new AgentServiceContainer('service').start();
  expect(waits).toEqual([['/readyz', 8080, { abortOnContainerExit: true }, 200]]);
});

test('the authority of receivers is a file in the container, which its setting names', async () => {
  const networks = '172.16.0.0/12';
  await new AgentServiceContainer('service').withWebhooks(networks, { authority: 'a certificate' }).start();
  const [{ target, ...copy }] = copies as [{ target: string }];
  expect(copy).toEqual({ content: 'a certificate', mode: 0o444 });
  expect(environments[0]).toMatchObject({ WEBHOOKS_ENABLED: 'true', WEBHOOK_ALLOWED_NETWORKS: networks, WEBHOOK_CA_FILE: target });
});

test('without an authority nothing is copied', async () => {
  await new AgentServiceContainer('service').withWebhooks('172.16.0.0/12').start();
  expect(copies).toEqual([]);
  expect(environments[0]).not.toHaveProperty('WEBHOOK_CA_FILE');
});
