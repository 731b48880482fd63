import { type OwnRedis, ownRedis, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type BootedService, boot, query } from './boot.ts';
import { asCaller } from './clients.ts';

let redis: OwnRedis;
let webhooks: BootedService;
let clock: number;

beforeAll(async () => {
  clock = Date.parse('2026-03-01T12:00:00Z');
  redis = await ownRedis();
  webhooks = await boot({ now: () => clock, settings: { REDIS_URL: redis.url } });
  const request = { url: 'https://127.0.0.1/in', events: ['agent.created'], active: true };
  await asCaller({}, () => webhooks.gateway.createEndpoint(request));
});
afterAll(async () => {
  await webhooks?.stop();
  await redis?.stop();
});

async function receive(id: string): Promise<void> {
  const createdAt = new Date(clock).toISOString();
  const event = { id, type: 'agent.created', organizationId: 'org_a', environment: 'live', createdAt, dataJson: '{}' };
  await webhooks.credits.receiveEvents({ events: [event] });
}

interface DeliveryRow {
  readonly id: string;
  readonly state: string;
  readonly dispatch: number;
}

const deliveryOf = async (eventId: string) =>
  (await query<DeliveryRow>(webhooks.databaseUrl, 'select id, state, dispatch from deliveries where event_id = $1', [eventId]))[0];

/** Only the database knows it afterwards. */
async function deliver({ id, dispatch }: DeliveryRow): Promise<void> {
  const delivery = { organizationId: 'org_a', environment: 'live', deliveryId: id };
  const answer = { status: 200, body: '', retryAfterMs: 0, durationMs: 1 };
  await webhooks.dispatcher.endDelivery({ items: [{ delivery, dispatch, answer }] });
}

async function waitingJobs(): Promise<number> {
  const client = new Redis(redis.url);
  try {
    return await client.llen('{deliveries}:deliveries:wait');
  } finally {
    client.disconnect();
  }
}

test('a delivery is dispatched once there is Redis for its job', async () => {
  await receive('evt_with');
  await until('its job is added', async () => (await waitingJobs()) === 1);
  const first = (await deliveryOf('evt_with')) as DeliveryRow;
  await deliver(first);
  await redis.stop();
  await receive('evt_without');
  await redis.start();
  expect(await waitingJobs()).toBe(0);
  await until('its job is added after the outage', async () => {
    clock += 1_000;
    return (await waitingJobs()) === 1;
  });
  expect(await deliveryOf('evt_without')).toMatchObject({ state: 'armed', dispatch: first.dispatch });
});
