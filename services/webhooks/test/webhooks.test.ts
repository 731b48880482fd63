import type { ServiceError } from '@agent-service/contracts';
import { countLockWaits, until } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type BootedService, boot, connect, holdInsert, query } from './boot.ts';
import { asCaller } from './clients.ts';

const url = 'https://hooks.example.com/in';
const events = ['agent.created', 'user.registered'];

let webhooks: BootedService;
let clock: number;
let organizationId: string;
let organizations = 0;

beforeAll(async () => {
  clock = Date.parse('2026-03-01T12:00:00Z');
  webhooks = await boot({ now: () => clock, settings: { WEBHOOK_ALLOWED_NETWORKS: '' } });
});
beforeEach(() => {
  organizations += 1;
  organizationId = `org_${organizations}`;
});
afterAll(() => webhooks.stop());

type Create = Parameters<BootedService['gateway']['createEndpoint']>[0];
const as = <T>(work: () => T, idempotency?: { scope: string; fingerprint: string }) => asCaller({ organizationId }, work, idempotency);
const create = (more: Create = {}) => as(() => webhooks.gateway.createEndpoint({ url, events, active: true, ...more }));
const created = async (more?: Create) => (await create(more)).endpoint?.id ?? '';
const refusal = async (work: Promise<unknown>) => {
  const { code, param } = (await work.then(
    () => ({ code: 'none', param: null }),
    (cause: unknown) => cause,
  )) as Pick<ServiceError, 'param'> & { code: string };
  return [code, param];
};
const receive = (id: string, type = 'agent.created', environment = 'live') =>
  webhooks.credits.receiveEvents({
    events: [{ id, type, organizationId, environment, createdAt: new Date(clock).toISOString(), dataJson: '{}' }],
  });
/** The deliveries of a webhook that were given to dispatchers, as these name them. */
async function armedOf(endpointId: string) {
  const rows = await query<{ id: string; dispatch: number }>(
    webhooks.databaseUrl,
    "select id, dispatch from deliveries where endpoint_id = $1 and state = 'armed'",
    [endpointId],
  );
  return rows.map(({ id, dispatch }) => ({ delivery: { organizationId, environment: 'live', deliveryId: id }, dispatch }));
}
const deliveriesOf = (endpointId: string, page = {}) => as(() => webhooks.gateway.listDeliveries({ endpointId, page }));

test('a secret is generated or the caller’s own, returned by creation and rotation only, and never stored in clear, also not under an Idempotency-Key', async () => {
  const key = { scope: `${organizationId}:key`, fingerprint: 'f' };
  const own = 'an own secret, long enough';
  const first = await as(() => webhooks.gateway.createEndpoint({ url, events, active: true, secret: own }), key);
  const repeated = await as(() => webhooks.gateway.createEndpoint({ url, events, active: true, secret: own }), key);
  expect(first.secret).toBe(own);
  expect(repeated).toEqual(first);
  const { secret: generated } = await create();
  expect(generated).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const endpointId = first.endpoint?.id ?? '';
  const rotated = await as(() => webhooks.gateway.rotateSecret({ endpointId }), { scope: `${organizationId}:rotate`, fingerprint: 'f' });
  const listed = await as(() => webhooks.gateway.listEndpoints({}));
  const stored = await query(
    webhooks.databaseUrl,
    'select endpoints::text from endpoints union all select idempotency_records::text from idempotency_records union all select outbox::text from outbox',
  );
  for (const secret of [own, generated, rotated.secret]) expect(JSON.stringify([listed, stored])).not.toContain(secret);
});

test('a rotation that waits for that of another replica keeps the secret that it finds then', async () => {
  const endpointId = await created();
  const replica = await connect(webhooks.databaseUrl);
  try {
    await replica.query('begin');
    await replica.query(`update endpoints set secret = 'of the other rotation' where id = $1`, [endpointId]);
    const rotated = as(() => webhooks.gateway.rotateSecret({ endpointId }));
    await until('the rotation waits', async () => (await countLockWaits(webhooks.databaseUrl)) > 0);
    await replica.query('commit');
    await rotated;
  } finally {
    await replica.end();
  }
  const [row] = await query(webhooks.databaseUrl, 'select previous_secret from endpoints where id = $1', [endpointId]);
  expect(row).toEqual({ previous_secret: 'of the other rotation' });
});

test('a repeat gets the outcome of the first request, although its address is refused by now', async () => {
  const permissive = await boot({
    now: () => clock,
    settings: { WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/8', DATABASE_URL: webhooks.databaseUrl },
  });
  const privately = { url: 'https://10.1.2.3/in', events, active: true };
  const makeAt = ({ gateway }: BootedService, scope: string) =>
    as(() => gateway.createEndpoint(privately), { scope: `${organizationId}:${scope}`, fingerprint: 'f' });
  const first = await makeAt(permissive, 'made');
  await permissive.stop();
  expect(await makeAt(webhooks, 'made')).toEqual(first);
  expect(await refusal(makeAt(webhooks, 'new'))).toEqual(['invalid_request', 'url']);
});

test('an invalid webhook is refused, and the error names the field', async () => {
  const long = 'x'.repeat(256);
  expect(await refusal(create({ url: 'http://hooks.example.com/' }))).toEqual(['invalid_request', 'url']);
  expect(await refusal(create({ url: 'https://127.0.0.1/' }))).toEqual(['invalid_request', 'url']);
  expect(await refusal(create({ events: [] }))).toEqual(['invalid_request', 'events']);
  expect(await refusal(create({ events: ['agent.created', 'webhook.test'] }))).toEqual(['invalid_request', 'events[1]']);
  for (const secret of ['too short', long]) expect(await refusal(create({ secret }))).toEqual(['invalid_request', 'secret']);
  expect(await refusal(create({ description: 'x'.repeat(2_001) }))).toEqual(['invalid_request', 'description']);
  const endpointId = await created();
  expect(await refusal(as(() => webhooks.gateway.updateEndpoint({ endpointId, url: 'https://10.0.0.1/' })))).toEqual([
    'invalid_request',
    'url',
  ]);
});

test('a change lists what differs, one that changes nothing leaves no entry and no new time, and active makes a failing webhook healthy', async () => {
  const { endpoint } = await create({ description: 'first' });
  const endpointId = endpoint?.id ?? '';
  const update = (changes: object) => as(() => webhooks.gateway.updateEndpoint({ endpointId, ...changes }));
  clock += 1_000;
  expect((await update({ url, events: { values: events }, description: 'first', active: true })).endpoint).toEqual(endpoint);
  expect((await update({})).endpoint).toEqual(endpoint);
  const changed = (await update({ url, description: 'second' })).endpoint;
  expect(changed).toEqual({ ...endpoint, description: 'second', updatedAt: new Date(clock).toISOString() });
  const fail = "update endpoints set status = 'failing', failing_since = created_at, first_failure_at = created_at where id = $1";
  await query(webhooks.databaseUrl, fail, [endpointId]);
  expect((await update({ active: true })).endpoint).toEqual(changed);
  await update({ active: false, url });
  const entries = await query(
    webhooks.databaseUrl,
    `select (payload ->> 'changesJson')::json as changes from outbox
     where topic = 'audit' and payload ->> 'targetId' = $1 and payload ->> 'action' = 'webhook.updated' order by id`,
    [endpointId],
  );
  expect(entries).toEqual([{ description: 'second' }, { status: 'healthy' }, { active: false }].map((changes) => ({ changes })));
});

test('every method on another tenant’s webhook answers not found', async () => {
  const endpointId = await created();
  await receive('evt_foreign');
  const [delivery] = (await deliveriesOf(endpointId)).deliveries;
  for (const caller of [{ organizationId: 'org_other' }, { organizationId, environment: 'test' as const }]) {
    const other = (work: () => Promise<unknown>) => refusal(asCaller(caller, work));
    const { gateway } = webhooks;
    expect((await asCaller(caller, () => gateway.listEndpoints({}))).endpoints).toEqual([]);
    expect(await other(() => gateway.updateEndpoint({ endpointId, active: false }))).toEqual(['not_found', null]);
    expect(await other(() => gateway.deleteEndpoint({ endpointId }))).toEqual(['not_found', null]);
    expect(await other(() => gateway.rotateSecret({ endpointId }))).toEqual(['not_found', null]);
    expect(await other(() => gateway.testEndpoint({ endpointId }))).toEqual(['not_found', null]);
    expect(await other(() => gateway.listDeliveries({ endpointId }))).toEqual(['not_found', null]);
    expect(await other(() => gateway.redeliver({ endpointId, deliveryId: delivery?.id ?? '' }))).toEqual(['not_found', null]);
  }
  expect((await as(() => webhooks.gateway.listEndpoints({}))).endpoints).toMatchObject([{ id: endpointId, active: true }]);
});

test('webhooks checks scopes and services too', async () => {
  const reader = { organizationId, scopes: ['webhooks:read'] };
  expect(await refusal(asCaller(reader, () => webhooks.gateway.createEndpoint({ url, events })))).toEqual(['insufficient_scope', null]);
  expect(await refusal(webhooks.gateway.receiveEvents({ events: [] }))).toEqual(['service_forbidden', null]);
  expect(await refusal(webhooks.credits.beginDelivery({ items: [] }))).toEqual(['service_forbidden', null]);
});

test('there are at most a hundred webhooks, also when they are created at once', async () => {
  const outcomes: (string | null)[][] = [];
  // Eleven at a time: on a busy machine a call that waits for the locks of 110 others exceeds its deadline.
  for (let round = 0; round < 10; round += 1) outcomes.push(...(await Promise.all(Array.from({ length: 11 }, () => refusal(create())))));
  expect(outcomes.filter(([code]) => code === 'none')).toHaveLength(100);
  expect(outcomes.filter(([code]) => code === 'webhook_limit_reached')).toHaveLength(10);
  const ids: string[] = [];
  for (let cursor = ''; ; ) {
    const { endpoints, page } = await as(() => webhooks.gateway.listEndpoints({ page: { limit: 30, cursor } }));
    ids.push(...endpoints.map(({ id }) => id));
    expect(Number(page?.total)).toBe(100);
    cursor = page?.nextCursor ?? '';
    if (cursor === '') break;
  }
  expect(new Set(ids).size).toBe(100);
});

test('an event id is taken once, reaches those who subscribed, and one of the organization reaches both environments', async () => {
  const live = await created();
  const elsewhere = await created({ events: ['agent.deleted'] });
  const inTest =
    (await asCaller({ organizationId, environment: 'test' }, () => webhooks.gateway.createEndpoint({ url, events, active: true }))).endpoint
      ?.id ?? '';
  await Promise.all(Array.from({ length: 5 }, () => receive('evt_once')));
  await receive('evt_user', 'user.registered', '');
  await receive('evt_unknown', 'something.new');
  expect((await deliveriesOf(live)).deliveries.map(({ eventId }) => eventId).sort()).toEqual(['evt_once', 'evt_user']);
  expect((await deliveriesOf(elsewhere)).page?.total).toBe('0');
  const { deliveries } = await asCaller({ organizationId, environment: 'test' }, () =>
    webhooks.gateway.listDeliveries({ endpointId: inTest }),
  );
  expect(deliveries.map(({ eventId }) => eventId)).toEqual(['evt_user']);
});

test('an inactive webhook gets no deliveries, loses the waiting ones, and cannot be tested', async () => {
  const endpointId = await created();
  await receive('evt_waiting');
  clock += 1_000;
  await as(() => webhooks.gateway.updateEndpoint({ endpointId, active: false }));
  await until('what waited is dropped', async () => (await deliveriesOf(endpointId)).deliveries[0]?.status === 'dropped');
  await receive('evt_unheard');
  const { deliveries } = await deliveriesOf(endpointId);
  expect(deliveries.map(({ eventId }) => eventId)).toEqual(['evt_waiting']);
  expect(await refusal(as(() => webhooks.gateway.testEndpoint({ endpointId })))).toEqual(['webhook_inactive', null]);
  expect(await refusal(as(() => webhooks.gateway.redeliver({ endpointId, deliveryId: deliveries[0]?.id ?? '' })))).toEqual([
    'webhook_inactive',
    null,
  ]);
});

test.each([
  ['later than', 1_000],
  ['by a clock before that of', -1_000],
])('a delivery of an event that arrives during a deactivation is dropped (%s the event)', async (_, lateMs) => {
  const endpointId = await created();
  const database = await connect(webhooks.databaseUrl);
  try {
    await holdInsert(database, { organizationId, eventId: 'evt_race', at: new Date(clock) });
    const receiving = receive('evt_race');
    await until('the event waits', async () => (await countLockWaits(webhooks.databaseUrl, 'insert into events')) > 0);
    clock += lateMs;
    await as(() => webhooks.gateway.updateEndpoint({ endpointId, active: false }));
    await until('the deactivation has ended', async () => (await query(webhooks.databaseUrl, voidingWebhooks)).length === 0);
    await database.query('rollback');
    await receiving;
  } finally {
    await database.end();
  }
  await as(() => webhooks.gateway.updateEndpoint({ endpointId, active: true }));
  await until('the delivery is dropped', async () => (await deliveriesOf(endpointId)).deliveries[0]?.status === 'dropped');
  await until('later ones are not', async () => (await query(webhooks.databaseUrl, voidingWebhooks)).length === 0);
  clock += 2_000;
  await receive('evt_after');
  expect((await deliveriesOf(endpointId)).deliveries.map(({ eventId, status }) => [eventId, status])).toEqual([
    ['evt_after', expect.not.stringMatching('dropped')],
    ['evt_race', 'dropped'],
  ]);
});

test('void deliveries that another transaction locks are dropped later, and hold up no other webhook', async () => {
  const [locked, free] = (await Promise.all([created(), created()])).sort() as [string, string];
  await receive('evt_waiting');
  const statusOf = async (endpointId: string) => (await deliveriesOf(endpointId)).deliveries[0]?.status;
  await until('both are dispatched', async () => (await armedOf(locked)).length + (await armedOf(free)).length === 2);
  const items = await armedOf(locked);
  const database = await connect(webhooks.databaseUrl);
  try {
    await database.query('begin');
    await database.query('select 1 from deliveries where endpoint_id = $1 for update', [locked]);
    clock += 1_000;
    await as(() => webhooks.gateway.updateEndpoint({ endpointId: locked, active: false }));
    await as(() => webhooks.gateway.updateEndpoint({ endpointId: free, active: false }));
    await until('the free one is dropped', async () => (await statusOf(free)) === 'dropped');
    // Nor are they sent by a webhook that is active again.
    await as(() => webhooks.gateway.updateEndpoint({ endpointId: locked, active: true }));
    expect((await webhooks.dispatcher.beginDelivery({ items })).results).toEqual([{ begun: null }]);
    await database.query('rollback');
  } finally {
    await database.end();
  }
  await until('the locked one is dropped', async () => (await statusOf(locked)) === 'dropped');
  await until('both are done', async () => (await query(webhooks.databaseUrl, voidingWebhooks)).length === 0);
});

const voidingWebhooks = 'select 1 from endpoints where voiding';

test('an event that is sent again is one of the three that have to fail before a webhook is disabled', async () => {
  const endpointId = await created();
  const failing = async () => {
    await until('a delivery is dispatched', async () => (await armedOf(endpointId)).length > 0);
    const failure = { reason: 'timeout', durationMs: 15_000 };
    const items = (await armedOf(endpointId)).map((item) => ({ ...item, failure }));
    await webhooks.dispatcher.endDelivery({ items });
  };
  const statusOf = async () => (await as(() => webhooks.gateway.listEndpoints({}))).endpoints[0]?.status;
  await receive('evt_repeated');
  await failing();
  const deliveryId = (await deliveriesOf(endpointId)).deliveries[0]?.id ?? '';
  for (let repeat = 0; repeat < 2; repeat += 1) {
    await as(() => webhooks.gateway.redeliver({ endpointId, deliveryId }));
    await failing();
  }
  clock += 7 * 24 * 3_600_000;
  await failing();
  expect(await statusOf()).toBe('healthy');
  for (const id of ['evt_second', 'evt_third']) {
    await receive(id);
    await failing();
  }
  expect(await statusOf()).toBe('disabled');
});

test('an attempt has the time at which its delivery was made, also where an old event is sent again', async () => {
  const endpointId = await created();
  await receive('evt_of_before');
  await until('it is dispatched', async () => (await armedOf(endpointId)).length > 0);
  await webhooks.dispatcher.endDelivery({
    items: (await armedOf(endpointId)).map((item) => ({ ...item, answer: { status: 200, body: '', retryAfterMs: 0, durationMs: 1 } })),
  });
  clock += 20 * 24 * 3_600_000;
  const deliveryId = (await deliveriesOf(endpointId)).deliveries[0]?.id ?? '';
  await as(() => webhooks.gateway.redeliver({ endpointId, deliveryId }));
  await until('it is dispatched again', async () => (await armedOf(endpointId)).length > 0);
  const { results } = await webhooks.dispatcher.beginDelivery({ items: await armedOf(endpointId) });
  expect(results[0]?.begun).toMatchObject({ attempt: 1, receivedAtMs: String(clock), webhookId: endpointId, eventType: 'agent.created' });
});

test('the lane of a webhook has at most 16 of its deliveries, and 4 while it fails', async () => {
  const [busy, idle] = [await created(), await created()];
  const burst = Array.from({ length: 40 }, (_, index) => index);
  await Promise.all(burst.map((index) => receive(`evt_burst_${String(index).padStart(2, '0')}`)));
  for (const endpointId of [busy, idle]) await until('the lane is full', async () => (await armedOf(endpointId)).length === 16);
  // A job of another dispatch ends no delivery.
  const answer = { status: 200, body: '', retryAfterMs: 0, durationMs: 1 };
  const others = (await armedOf(idle)).map(({ delivery, dispatch }) => ({ delivery, dispatch: dispatch + 1, answer }));
  await webhooks.dispatcher.endDelivery({ items: others });
  const idsOf = (items: Awaited<ReturnType<typeof armedOf>>) => items.map(({ delivery }) => delivery.deliveryId).sort();
  expect(idsOf(await armedOf(idle))).toEqual(idsOf(others));
  const failure = { reason: 'timeout', durationMs: 15_000 };
  const failed = (await armedOf(busy)).map((item) => ({ ...item, failure }));
  await webhooks.dispatcher.endDelivery({ items: failed });
  await until('others have their turn', async () => (await armedOf(busy)).length === 4);
  // Told again, or by a job that is none of theirs any more, it changes nothing.
  await webhooks.dispatcher.endDelivery({ items: failed });
  const { deliveries } = await deliveriesOf(busy, { limit: 100 });
  expect(deliveries.every(({ attempts }) => attempts.length <= 1)).toBe(true);
  expect(
    (await webhooks.dispatcher.beginDelivery({ items: failed.map(({ delivery, dispatch }) => ({ delivery, dispatch })) })).results,
  ).toEqual(failed.map(() => ({ begun: null })));
});
