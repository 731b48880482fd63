import { type Client, ServiceError } from '@agent-service/contracts';
import { createLogger, createMetrics, type ProcessContext } from '@agent-service/runtime';
import { until } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { MockAgent } from 'undici';
import { createDeliver } from './deliver.ts';

const deliveryOf = (organizationId: string, n: number) =>
  ({ organizationId, environment: 'live', deliveryId: `${organizationId}_${n}`, dispatch: 1 }) as const;

test('a report that does not return keeps the outcomes of no other tenant waiting', async () => {
  const agent = new MockAgent();
  agent.disableNetConnect();
  agent.get('https://receiver.example').intercept({ path: '/', method: 'POST' }).reply(200, 'ok').persist();
  const { promise: silence, resolve: endSilence } = Promise.withResolvers<void>();
  let isSilent = true;
  let isWaiting = false;
  const reported = new Set<string>();
  const webhooks = {
    beginDelivery: async ({ items }: { items: object[] }) => ({
      results: items.map(() => ({
        begun: { url: 'https://receiver.example/', eventId: 'evt_1', body: '{}', secrets: ['whsec_AAAA'], receivedAtMs: '0', attempt: 1 },
      })),
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
  const process = { metrics: createMetrics('test'), logger: createLogger('test', 'silent') } as unknown as ProcessContext;
  const deliver = createDeliver({ process, webhooks, agent });
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
