import { type Client, createClient, operatorService } from '@agent-service/contracts';
import {
  type Receiver,
  type ReceiverAnswer,
  type ServiceProcess,
  serviceProcess,
  type TestDatabase,
  testDatabase,
  until,
} from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type BootedService, boot, query } from './boot.ts';
import { asCaller } from './clients.ts';
import { type MailServer, mailServer } from './mail-server.ts';
import { trustedReceiver } from './receivers.ts';
import { dispatcherSettings, identitySettings, serviceSecret } from './settings.ts';

const [minute, hour, day] = [60_000, 3_600_000, 24 * 3_600_000];
const begin = Date.parse('2026-03-01T12:00:00Z');

let clock: number;
let target: Receiver;
let answer: ReceiverAnswer;
let mails: MailServer;
let identity: ServiceProcess;
let identityDatabase: TestDatabase;
let dispatcher: ServiceProcess;
let webhooks: BootedService;
let organizationId: string;

/** Everything real but the time that the webhooks service goes by. */
beforeAll(async () => {
  clock = begin;
  let caFile: string;
  [{ target, caFile }, mails, identityDatabase] = await Promise.all([trustedReceiver(() => answer), mailServer(), testDatabase()]);
  identity = await serviceProcess('identity', identitySettings(identityDatabase.url));
  await identity.start();
  const operator = clientOf(operatorService);
  organizationId = (await operator.createOrganization({ name: 'Acme', email: 'admin@acme.example' })).organizationId;
  operator.close();
  const settings = { IDENTITY_ADDRESS: identity.address, SMTP_URL: mails.url, SMTP_FROM: 'webhooks@service.example' };
  webhooks = await boot({ now: () => clock, settings });
  dispatcher = await serviceProcess('webhook-dispatcher', dispatcherSettings(webhooks.redisUrl, webhooks.address, caFile));
  await dispatcher.start();
});

afterAll(async () => {
  await dispatcher.stop();
  await webhooks.stop();
  await identity.stop();
  await Promise.all([target.stop(), mails.stop(), identityDatabase.drop()]);
});

const clientOf = (as: string): Client<'identity'> =>
  createClient('identity', { address: identity.address, as, config: { SERVICE_SECRET: [serviceSecret] } });
const as = <T>(work: () => T) => asCaller({ organizationId }, work);

async function create(path: string): Promise<string> {
  const { endpoint } = await as(() =>
    webhooks.gateway.createEndpoint({ url: `${target.url}${path}`, events: ['credits.depleted'], active: true }),
  );
  return endpoint?.id ?? '';
}

const remove = (endpointId: string) => as(() => webhooks.gateway.deleteEndpoint({ endpointId }));
const webhookOf = async (id: string) => (await as(() => webhooks.gateway.listEndpoints({}))).endpoints.find((each) => each.id === id);
const deliveriesOf = async (endpointId: string) => (await as(() => webhooks.gateway.listDeliveries({ endpointId }))).deliveries;

async function emit(id: string): Promise<void> {
  const createdAt = new Date(clock).toISOString();
  const event = { id, type: 'credits.depleted', organizationId, environment: 'live', createdAt, dataJson: '{"balance":0}' };
  await webhooks.credits.receiveEvents({ events: [event] });
}

/** Resolves when the newest delivery has that many attempts behind it. */
async function attempted(endpointId: string, count: number) {
  await until(`${count} attempts`, async () => ((await deliveriesOf(endpointId))[0]?.attempts.length ?? 0) >= count);
  return (await deliveriesOf(endpointId))[0];
}

test('first attempt, five retries at the stated times, failing; the event keeps its id through all of them', async () => {
  answer = { status: 503, body: 'not now' };
  target.requests.length = 0;
  const id = await create('/schedule');
  await emit('evt_schedule');
  let retriedAt = clock;
  for (const [index, delay] of [minute, 5 * minute, 30 * minute, 2 * hour, 12 * hour].entries()) {
    const delivery = await attempted(id, index + 1);
    expect(delivery).toMatchObject({ status: 'pending', responseStatus: 503, responseBody: 'not now' });
    expect((await webhookOf(id))?.status).toBe('healthy');
    const due = Date.parse(delivery?.nextAttemptAt ?? '');
    expect(due - retriedAt).toBeGreaterThanOrEqual(delay);
    expect(due - retriedAt).toBeLessThanOrEqual(delay * 1.1 + 1);
    // Nothing happens before its time, however often it is looked for.
    clock = due - 1;
    await untilLooked();
    expect((await deliveriesOf(id))[0]?.attempts).toHaveLength(index + 1);
    clock = due;
    retriedAt = clock;
  }
  expect(await attempted(id, 6)).toMatchObject({ status: 'failed', nextAttemptAt: '' });
  expect(await webhookOf(id)).toMatchObject({ status: 'failing', active: true, failingSince: new Date(clock).toISOString() });
  expect(target.requests.map(({ headers }) => headers['webhook-id'])).toEqual(Array(6).fill('evt_schedule'));
  expect(new Set(target.requests.map(({ body }) => body)).size).toBe(1);
  expect(JSON.parse(target.requests[0]?.body ?? '')).toEqual({
    id: 'evt_schedule',
    type: 'credits.depleted',
    created_at: new Date(begin).toISOString(),
    data: { balance: 0 },
  });
  await remove(id);
});

/** Two rounds of the reconciler have passed by the clock that it has now. */
async function untilLooked(): Promise<void> {
  const marker = async () =>
    (await query<{ at: string }>(webhooks.databaseUrl, 'select max(look_at)::text as at from endpoints where look_at is not null'))[0]?.at;
  await query(webhooks.databaseUrl, "update endpoints set look_at = 'epoch' where deleted_at is null");
  await until('the reconciler has looked', async () => !(await marker())?.startsWith('1970'));
}

test('a success makes a failing webhook healthy; seven days of failures disable it, with an audit entry and one mail; a person enables it', async () => {
  const id = await create('/week');
  answer = { status: 500 };
  for (const event of ['evt_w1', 'evt_w2', 'evt_w3']) {
    await emit(event);
    await attempted(id, 1);
  }
  const firstFailure = clock;
  clock = firstFailure + 7 * day - hour;
  await emit('evt_w4');
  await until('all of them are tried again', async () => (await deliveriesOf(id)).every(({ attempts }) => attempts.length >= 1));
  expect((await webhookOf(id))?.active).toBe(true);
  clock = firstFailure + 7 * day + 1;
  await emit('evt_w5');
  await until('it is disabled', async () => (await webhookOf(id))?.status === 'disabled');
  expect(await webhookOf(id)).toMatchObject({ active: false });
  await until('what was pending is dropped', async () => (await deliveriesOf(id)).every(({ status }) => status !== 'pending'));

  await until('the mail has come', () => mails.received.length > 0);
  await untilLooked();
  expect(mails.received).toHaveLength(1);
  expect(mails.received[0]).toMatchObject({ from: 'webhooks@service.example', to: ['admin@acme.example'] });
  const [mail] = mails.received;
  expect(mail?.data).toContain(`Subject: Webhook ${id} was disabled`);
  expect(mail?.data).toContain(`Date: ${new Date(clock).toUTCString().replace('GMT', '+0000')}`);
  for (const part of ['multipart/alternative', 'text/plain', 'text/html']) expect(mail?.data).toContain(part);
  expect(await query(webhooks.databaseUrl, 'select 1 from notices')).toEqual([]);

  const gateway = clientOf('gateway');
  await until('the audit entry has arrived', async () => (await auditOf(gateway, 'webhook.disabled')).length === 1);
  expect((await auditOf(gateway, 'webhook.disabled'))[0]).toMatchObject({
    target: { type: 'webhook', id },
    actor: { type: 'service', id: 'webhook-dispatcher' },
  });
  gateway.close();

  const before = target.requests.length;
  await emit('evt_unheard');
  answer = { status: 200 };
  clock += 1_000;
  await as(() => webhooks.gateway.updateEndpoint({ endpointId: id, active: true }));
  expect(await webhookOf(id)).toMatchObject({ active: true, status: 'healthy', failingSince: '' });
  await emit('evt_heard');
  await until('it hears again', () => target.requests.length > before);
  expect(target.requests.slice(before).map(({ headers }) => headers['webhook-id'])).toEqual(['evt_heard']);
  await remove(id);
});

const auditOf = async (gateway: Client<'identity'>, action: string) =>
  (await asCaller({ organizationId, scopes: ['audit:read'] }, () => gateway.listAuditEntries({ action }))).entries;

test('410 disables at once', async () => {
  const id = await create('/gone');
  answer = { status: 410 };
  await emit('evt_gone');
  await until('it is disabled', async () => (await webhookOf(id))?.status === 'disabled');
  expect((await deliveriesOf(id))[0]).toMatchObject({ status: 'failed', responseStatus: 410 });
  await remove(id);
});

test('Retry-After lengthens a delay, to a day at most', async () => {
  const id = await create('/later');
  for (const [seconds, expected] of [
    ['600', 10 * minute],
    ['9999999', day],
  ] as const) {
    answer = { status: 429, headers: { 'retry-after': seconds } };
    await emit(`evt_later_${seconds}`);
    const delivery = await attempted(id, 1);
    expect(Date.parse(delivery?.nextAttemptAt ?? '') - clock).toBe(expected);
  }
  await remove(id);
});

test('after a rotation both secrets sign for a day, then the new one alone', async () => {
  const id = await create('/rotation');
  answer = { status: 200 };
  const signatures = async (event: string) => {
    await emit(event);
    await until('it has come', () => target.requests.some(({ headers }) => headers['webhook-id'] === event));
    return target.requests.find(({ headers }) => headers['webhook-id'] === event)?.headers['webhook-signature']?.split(' ').length;
  };
  expect(await signatures('evt_before')).toBe(1);
  const { previousSecretUntil } = await as(() => webhooks.gateway.rotateSecret({ endpointId: id }));
  expect(Date.parse(previousSecretUntil) - clock).toBe(day);
  expect(await signatures('evt_both')).toBe(2);
  clock += day;
  expect(await signatures('evt_after')).toBe(1);
  await remove(id);
});

test('a test is sent once, and a delivery can be sent again under its old event id', async () => {
  const id = await create('/again');
  answer = { status: 500 };
  await as(() => webhooks.gateway.testEndpoint({ endpointId: id }));
  const tested = await attempted(id, 1);
  expect(tested).toMatchObject({ eventType: 'webhook.test', status: 'failed' });
  expect((await webhookOf(id))?.status).toBe('healthy');
  answer = { status: 200 };
  await emit('evt_again');
  const first = await attempted(id, 1)
    .then(() => deliveriesOf(id))
    .then(([newest]) => newest);
  const { delivery } = await as(() => webhooks.gateway.redeliver({ endpointId: id, deliveryId: first?.id ?? '' }));
  expect(delivery).toMatchObject({ eventId: 'evt_again', redeliveryOf: first?.id, status: 'pending' });
  await until('it came twice', () => target.requests.filter(({ headers }) => headers['webhook-id'] === 'evt_again').length === 2);
  await remove(id);
});
