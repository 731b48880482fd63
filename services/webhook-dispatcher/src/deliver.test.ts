import { type Client, ServiceError } from '@agent-service/contracts';
import { createLogger, createMetrics, type ProcessContext } from '@agent-service/runtime';
import { startExporter } from '@agent-service/runtime/tracing-sdk';
import { spanCollector, until } from '@agent-service/testkit';
import { afterEach, expect, jest, test } from '@jest/globals';
import { MockAgent } from 'undici';
import { createDeliver } from './deliver.ts';

const deliveryOf = (organizationId: string, n: number) =>
  ({ organizationId, environment: 'live', deliveryId: `${organizationId}_${n}`, dispatch: 1 }) as const;

const agentOf = () => {
  const agent = new MockAgent();
  agent.disableNetConnect();
  agent.get('https://receiver.example').intercept({ path: '/', method: 'POST' }).reply(200, 'ok').persist();
  return agent;
};
const attempt = {
  url: 'https://receiver.example/',
  webhookId: 'whk_1',
  eventId: 'evt_1',
  eventType: 'conversation.completed',
  body: '{}',
  secrets: ['whsec_AAAA'],
  receivedAtMs: '0',
  attempt: 1,
};
const processOf = () => ({ metrics: createMetrics('test'), logger: createLogger('test', 'silent') }) as unknown as ProcessContext;

afterEach(() => void jest.useRealTimers());

test('an outcome is reported with the URL that the attempt was sent to', async () => {
  const agent = agentOf();
  const reported: object[] = [];
  const webhooks = {
    beginDelivery: async ({ items }: { items: object[] }) => ({ results: items.map(() => ({ begun: attempt })) }),
    async endDelivery({ items }: { items: object[] }) {
      reported.push(...items);
      return {};
    },
  } as unknown as Client<'webhooks'>;
  const deliver = createDeliver({ process: processOf(), webhooks, agent });
  await deliver({ job: 'job', deliveries: [deliveryOf('org_a', 1)] }, new AbortController().signal);
  expect(reported).toEqual([expect.objectContaining({ url: attempt.url, answer: expect.objectContaining({ status: 200 }) })]);
  await agent.close();
});

test('each attempt that fails leaves a line in the log, which names the receiver by its host only', async () => {
  const agent = new MockAgent();
  agent.disableNetConnect();
  const receiver = agent.get('https://receiver.example:8443');
  for (const status of [200, 302, 500]) receiver.intercept({ path: '/hooks?token=secret', method: 'POST' }).reply(status, 'private');
  const process = processOf();
  const info = jest.spyOn(process.logger, 'info');
  const webhooks = {
    beginDelivery: async ({ items }: { items: object[] }) => ({
      results: items.map(() => ({
        begun: { ...attempt, url: 'https://user:password@receiver.example:8443/hooks?token=secret', attempt: 2 },
      })),
    }),
    endDelivery: async () => ({}),
  } as unknown as Client<'webhooks'>;
  const deliver = createDeliver({ process, webhooks, agent });
  // No receiver answers the last one.
  for (const n of [1, 2, 3, 4]) await deliver({ job: 'job', deliveries: [deliveryOf('org_a', n)] }, new AbortController().signal);
  // The process stops, which is no failure of the receiver.
  await deliver({ job: 'job', deliveries: [deliveryOf('org_a', 5)] }, AbortSignal.abort());
  const common = {
    event: 'delivery_attempt',
    organization_id: 'org_a',
    environment: 'live',
    webhook_id: 'whk_1',
    event_id: 'evt_1',
    event_type: 'conversation.completed',
    host: 'receiver.example:8443',
    attempt: 2,
  };
  expect(info.mock.calls.map(([fields]) => fields)).toEqual([
    { ...common, delivery_id: 'org_a_2', outcome: '3xx' },
    { ...common, delivery_id: 'org_a_3', outcome: '5xx' },
    { ...common, delivery_id: 'org_a_4', outcome: 'connection' },
  ]);
  await agent.close();
});

test('a report that does not return keeps the outcomes of no other tenant waiting', async () => {
  const agent = agentOf();
  const { promise: silence, resolve: endSilence } = Promise.withResolvers<void>();
  let isSilent = true;
  let isWaiting = false;
  const reported = new Set<string>();
  const webhooks = {
    beginDelivery: async ({ items }: { items: object[] }) => ({
      results: items.map(() => ({ begun: attempt })),
    }),
    async endDelivery({ items }: { items: { delivery: { organizationId: string; deliveryId: string } }[] }) {
      if (isSilent && items.some(({ delivery }) => delivery.organizationId === 'org_stuck')) {
        isWaiting = true;
        await silence;
        throw new ServiceError('deadline_exceeded');
      }
      for (const { delivery } of items) reported.add(delivery.deliveryId);
      return {};
    },
  } as unknown as Client<'webhooks'>;
  const deliver = createDeliver({ process: processOf(), webhooks, agent });
  const { signal } = new AbortController();
  const stuck = deliver({ job: 'stuck', deliveries: [deliveryOf('org_stuck', 1)] }, signal);
  await until('the report is on its way', () => isWaiting);
  // More tenants than shards: some share the shard of the one that waits.
  const others = Array.from({ length: 20 }, (_, n) => deliveryOf(`org_${n}`, 1));
  await deliver({ job: 'others', deliveries: others }, signal);
  expect(others.filter(({ deliveryId }) => !reported.has(deliveryId))).toEqual([]);
  isSilent = false;
  endSilence();
  await stuck;
  expect(reported).toContain('org_stuck_1');
  await agent.close();
});

test('an outcome that is not saved is reported alone, and the jobs of other tenants end', async () => {
  const agent = agentOf();
  let isLocked = true;
  const calls: string[][] = [];
  const webhooks = {
    beginDelivery: async ({ items }: { items: object[] }) => ({ results: items.map(() => ({ begun: attempt })) }),
    async endDelivery({ items }: { items: { delivery: { organizationId: string } }[] }) {
      const tenants = [...new Set(items.map(({ delivery }) => delivery.organizationId))];
      calls.push(tenants);
      if (isLocked && tenants.includes('org_locked')) throw new ServiceError('outcomes_not_saved');
      return {};
    },
  } as unknown as Client<'webhooks'>;
  const deliver = createDeliver({ process: processOf(), webhooks, agent });
  const { signal } = new AbortController();
  const others = Array.from({ length: 20 }, (_, n) => deliveryOf(`org_${n}`, 1));
  const [locked, ...ended] = [deliveryOf('org_locked', 1), ...others].map((delivery, n) =>
    deliver({ job: `job ${n}`, deliveries: [delivery] }, signal),
  );
  await Promise.all(ended);
  const ofLocked = () => calls.filter((tenants) => tenants.includes('org_locked'));
  await until('it was reported several times', () => ofLocked().length >= 4);
  expect(ofLocked().filter(({ length }) => length > 1).length).toBeLessThanOrEqual(1);
  isLocked = false;
  await locked;
  await agent.close();
});

test('an outcome is reported after an outage of half a minute, as of a failover of the database, so that the event is not sent again', async () => {
  const agent = agentOf();
  let isAway = true;
  const reported: object[] = [];
  const webhooks = {
    beginDelivery: async ({ items }: { items: object[] }) => ({ results: items.map(() => ({ begun: attempt })) }),
    async endDelivery({ items }: { items: object[] }) {
      if (isAway) throw new ServiceError('unavailable');
      reported.push(...items);
      return {};
    },
  } as unknown as Client<'webhooks'>;
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'setImmediate', 'nextTick', 'performance', 'Date'] });
  const deliver = createDeliver({ process: processOf(), webhooks, agent });
  const delivered = deliver({ job: 'job', deliveries: [deliveryOf('org_a', 1)] }, new AbortController().signal).then(
    () => true,
    () => false,
  );
  // Timers start between turns of the event loop.
  const pass = async (seconds: number) => {
    for (let step = 0; step < seconds * 10; step += 1) {
      await jest.advanceTimersByTimeAsync(100);
      await new Promise(setImmediate);
    }
  };
  await pass(30);
  isAway = false;
  await pass(5);
  expect(await delivered).toBe(true);
  expect(reported).toHaveLength(1);
  jest.useRealTimers();
  await agent.close();
});

test('an attempt is a span that names its delivery and the answer of the receiver, and not its URL', async () => {
  const collector = await spanCollector();
  const stop = startExporter('test', { endpoint: collector.url }, createLogger('test', 'silent'));
  const agent = agentOf();
  agent.get('https://receiver.example').intercept({ path: '/broken?token=secret', method: 'POST' }).reply(500, 'broken');
  const attempts = [attempt, { ...attempt, url: `${attempt.url}broken?token=secret`, attempt: 3 }];
  const webhooks = {
    beginDelivery: async ({ items }: { items: object[] }) => ({ results: items.map(() => ({ begun: attempts.shift() })) }),
    endDelivery: async () => ({}),
  } as unknown as Client<'webhooks'>;
  const deliver = createDeliver({ process: processOf(), webhooks, agent });
  for (const n of [1, 2]) await deliver({ job: 'job', deliveries: [deliveryOf('org_a', n)] }, new AbortController().signal);
  await agent.close();
  await stop();
  await collector.stop();
  const spans = collector.spans.map(({ name, details }) => {
    const { attributes, status } = JSON.parse(details);
    const values = attributes.map(({ key, value }: { key: string; value: object }) => [key, Object.values(value)[0]]);
    return { name, failed: status.code === 2, ...Object.fromEntries(values) };
  });
  const common = { name: 'POST', 'http.request.method': 'POST', 'server.address': 'receiver.example', 'agent_service.event_id': 'evt_1' };
  expect(spans).toEqual([
    { ...common, 'agent_service.delivery_id': 'org_a_1', 'http.request.resend_count': 0, 'http.response.status_code': 200, failed: false },
    {
      ...common,
      'agent_service.delivery_id': 'org_a_2',
      'http.request.resend_count': 2,
      'http.response.status_code': 500,
      'error.type': '500',
      failed: true,
    },
  ]);
});
