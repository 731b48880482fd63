import { countLockWaits, until } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type BootedService, boot, connect, query } from './boot.ts';
import { asCaller } from './clients.ts';

const [former, present] = ['https://127.0.0.1/former', 'https://127.0.0.1/present'];

let webhooks: BootedService;
let clock: number;
let organizationId: string;
let organizations = 0;

beforeAll(async () => {
  clock = Date.parse('2026-03-01T12:00:00Z');
  // With a mail server, and without an identity service to ask for recipients, notices stay in their table.
  webhooks = await boot({ now: () => clock, settings: { SMTP_URL: 'smtp://127.0.0.1:1' } });
});
beforeEach(() => {
  organizations += 1;
  organizationId = `org_${organizations}`;
});
afterAll(() => webhooks.stop());

const as = <T>(work: () => T) => asCaller({ organizationId }, work);
const webhookOf = async (id: string) => (await as(() => webhooks.gateway.listEndpoints({}))).endpoints.find((each) => each.id === id);
const deliveryOf = async (endpointId: string) => (await as(() => webhooks.gateway.listDeliveries({ endpointId }))).deliveries[0];
const change = (endpointId: string, changes: { url?: string; active?: boolean }) =>
  as(() => webhooks.gateway.updateEndpoint({ endpointId, ...changes }));
const noticesOf = async () =>
  (await query<{ notice: object }>(webhooks.databaseUrl, 'select notice from notices where organization_id = $1', [organizationId])).map(
    ({ notice }) => notice,
  );

/** A webhook at the former URL, with one delivery that is dispatched. */
async function createWithDelivery(): Promise<string> {
  const { endpoint } = await as(() => webhooks.gateway.createEndpoint({ url: former, events: ['agent.created'], active: true }));
  const createdAt = new Date(clock).toISOString();
  const event = { id: 'evt_1', type: 'agent.created', organizationId, environment: 'live', createdAt, dataJson: '{}' };
  await webhooks.credits.receiveEvents({ events: [event] });
  return endpoint?.id ?? '';
}

/** Begins the delivery as a dispatcher does, once it is dispatched. */
async function begin(endpointId: string) {
  const row = async () =>
    (
      await query<{ id: string; dispatch: number }>(
        webhooks.databaseUrl,
        "select id, dispatch from deliveries where endpoint_id = $1 and state = 'armed'",
        [endpointId],
      )
    )[0];
  await until('it is dispatched', async () => (await row()) !== undefined);
  const { id: deliveryId, dispatch } = (await row()) as { id: string; dispatch: number };
  const key = { delivery: { organizationId, environment: 'live', deliveryId }, dispatch };
  const { results } = await webhooks.dispatcher.beginDelivery({ items: [key] });
  return { key, url: results[0]?.begun?.url ?? '' };
}

const answer410 = { answer: { status: 410, body: '', retryAfterMs: 0, durationMs: 1 } };

test('410 of a former URL does not disable the webhook, and its delivery is retried at the present one', async () => {
  const id = await createWithDelivery();
  const { key, url } = await begin(id);
  expect(url).toBe(former);
  await change(id, { url: present });
  await webhooks.dispatcher.endDelivery({ items: [{ ...key, url, ...answer410 }] });
  expect(await webhookOf(id)).toMatchObject({ status: 'healthy', active: true, failingSince: '' });
  expect(await noticesOf()).toEqual([]);
  const delivery = await deliveryOf(id);
  expect(delivery).toMatchObject({ status: 'pending', responseStatus: 410 });

  clock = Date.parse(delivery?.nextAttemptAt ?? '');
  const retry = await begin(id);
  expect(retry.url).toBe(present);
  await webhooks.dispatcher.endDelivery({ items: [{ ...retry.key, url: retry.url, ...answer410 }] });
  expect(await webhookOf(id)).toMatchObject({ status: 'disabled', active: false });
  expect(await noticesOf()).toEqual([expect.objectContaining({ url: present, reason: 'gone' })]);
});

test('410 that a dispatcher of the version before reports, without a URL, disables the webhook', async () => {
  const id = await createWithDelivery();
  const { key } = await begin(id);
  await webhooks.dispatcher.endDelivery({ items: [{ ...key, ...answer410 }] });
  expect(await webhookOf(id)).toMatchObject({ status: 'disabled', active: false });
});

test('410 of a delivery from before a deactivation does not disable the webhook that is active again', async () => {
  const id = await createWithDelivery();
  const { key, url } = await begin(id);
  const database = await connect(webhooks.databaseUrl);
  try {
    // The lock keeps the sweep from dropping the delivery before its outcome is reported.
    await database.query('begin');
    await database.query('select 1 from deliveries where endpoint_id = $1 for update', [id]);
    await change(id, { active: false });
    await change(id, { active: true });
    const reported = webhooks.dispatcher.endDelivery({ items: [{ ...key, url, ...answer410 }] });
    await until(
      'the report has the webhook and waits for the delivery',
      async () => (await countLockWaits(webhooks.databaseUrl, 'as is_expected')) > 0,
    );
    await database.query('rollback');
    await reported;
  } finally {
    await database.end();
  }
  expect(await webhookOf(id)).toMatchObject({ status: 'healthy', active: true });
  expect(await deliveryOf(id)).toMatchObject({ status: 'failed', responseStatus: 410 });
});
