import { createProcess, processSettings, type RunningProcess, readConfig } from '@agent-service/runtime';
import { databaseSettings, migrate, openStore, type Store } from '@agent-service/store';
import { testDatabase, testRedis, until } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { z } from 'zod';
import { readWebhooksConfig, type WebhooksConfig } from '../src/config.ts';
import { laneWidth } from '../src/domain/schedule.ts';
import { start } from '../src/start.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { createMonths, type Months } from '../src/store/months.ts';
import { migrated, query } from './boot.ts';
import { asCaller, type Clients, connectTo } from './clients.ts';
import { webhooksSettings } from './settings.ts';

const schema = 'webhooks';
const settings = z.object({ ...processSettings, ...databaseSettings });
const silent = { HOST: '127.0.0.1', OPS_PORT: '0', LOG_LEVEL: 'silent' };

let database: Awaited<ReturnType<typeof testDatabase>>;
let service: RunningProcess<number>;
let past: RunningProcess<Store>;
let months: Months;
let clients: Clients;
let clock = Date.parse('2025-01-10T12:00:00Z');
let organizations = 0;
let organizationId: string;

/** The service in a year in which no first partition stands for all months up to now. */
beforeAll(async () => {
  const [made, { url: redisUrl }] = await Promise.all([testDatabase(migrated), testRedis()]);
  database = made;
  await query(database.url, 'drop table events_first, deliveries_first');
  const config = readWebhooksConfig(webhooksSettings({ databaseUrl: database.url, redisUrl }));
  service = await createProcess('webhooks', config, (process, settings: WebhooksConfig) => start(process, settings, () => clock));
  clients = connectTo(`127.0.0.1:${service.started}`);
  const storeConfig = readConfig(settings, { ...silent, DATABASE_URL: database.url });
  past = await createProcess('webhooks', storeConfig, (process) => openStore(process, storeConfig, { schema, entities: [] }));
  months = createMonths(past.started);
});
afterAll(async () => {
  clients?.close();
  await service?.stop();
  await past?.stop();
  await database?.drop();
});
beforeEach(() => {
  organizations += 1;
  organizationId = `org_${organizations}`;
});

const as = <T>(work: () => T) => asCaller({ organizationId }, work);
const at = (time: string) => {
  clock = Date.parse(time);
};
const eventOf = (id: string, createdAt = new Date(clock).toISOString()) => ({
  id,
  type: 'agent.created',
  organizationId,
  environment: 'live',
  createdAt,
  dataJson: '{}',
});
const receive = (...events: ReturnType<typeof eventOf>[]) => clients.credits.receiveEvents({ events });
const listedOf = async (endpointId: string) => {
  const { deliveries, page } = await as(() => clients.gateway.listDeliveries({ endpointId }));
  return { events: deliveries.map(({ eventId }) => eventId), total: page?.total, ids: deliveries.map(({ id }) => id) };
};
const partitions = async () =>
  (
    await query<{ name: string }>(
      database.url,
      `select inhrelid::regclass::text as name from pg_inherits where inhparent in ('events'::regclass, 'deliveries'::regclass) order by 1`,
    )
  ).map(({ name }) => name);

async function endpoint(): Promise<string> {
  const { endpoint: created } = await as(() =>
    clients.gateway.createEndpoint({ url: 'https://hooks.example.com/in', events: ['agent.created'], active: true }),
  );
  return created?.id ?? '';
}

test('over three months: deliveries are listed, counted and sent again, and whole months are removed after their last day', async () => {
  at('2025-01-31T23:59:00Z');
  const id = await endpoint();
  const repeated = eventOf('evt_january');
  await receive(repeated);
  at('2025-02-01T00:01:00Z');
  // The relay did not hear that the event was taken, and brings it again in the next month.
  await receive(repeated, eventOf('evt_february'));
  const both = await listedOf(id);
  expect(both).toMatchObject({ events: ['evt_february', 'evt_january'], total: '2' });

  const { delivery } = await as(() => clients.gateway.redeliver({ endpointId: id, deliveryId: both.ids[1] as string }));
  expect(delivery).toMatchObject({ eventId: 'evt_january', redeliveryOf: both.ids[1] });
  expect((await listedOf(id)).total).toBe('3');

  at('2025-03-05T00:00:00Z');
  await receive(eventOf('evt_march'));
  // January's last day is 32 days ago: none of its deliveries is listed, whether or not its partition has been dropped.
  const expected = { events: ['evt_march', 'evt_january', 'evt_february'], total: '3' };
  expect(await listedOf(id)).toMatchObject(expected);
  await months.ensure(clock);
  expect(await months.drop(clock)).toEqual(['deliveries_2025_01', 'events_2024_12']);
  expect(await listedOf(id)).toMatchObject(expected);
  expect(await partitions()).toEqual(
    expect.arrayContaining(['events_2025_01', 'events_2025_04', 'deliveries_2025_02', 'deliveries_2025_04']),
  );
  await expect(as(() => clients.gateway.redeliver({ endpointId: id, deliveryId: both.ids[1] as string }))).rejects.toMatchObject({
    code: 'not_found',
  });

  at('2025-03-12T00:00:00Z');
  expect(await months.drop(clock)).toEqual(['events_2025_01']);
  at('2025-04-20T00:00:00Z');
  await receive(eventOf('evt_april'));
  expect(await listedOf(id)).toMatchObject({ events: ['evt_april', 'evt_march'], total: '2' });
  expect(await months.drop(clock)).toEqual(['deliveries_2025_02', 'events_2025_02']);
  const [{ deliveries_by_month: counts } = { deliveries_by_month: {} }] = await query<{ deliveries_by_month: object }>(
    database.url,
    'select deliveries_by_month from endpoints where id = $1',
    [id],
  );
  expect(counts).toEqual({ '2025-03': 1, '2025-04': 1 });
});

test('rows of two months with the same ctid are told apart when they are sent and ended', async () => {
  at('2025-05-20T00:00:00Z');
  const id = await endpoint();
  await receive(eventOf('evt_may'));
  at('2025-06-02T00:00:00Z');
  await receive(eventOf('evt_june'));
  const rows = () =>
    query<{ id: string; event_id: string; ctid: string; state: string; dispatch: number; attempts_made: number }>(
      database.url,
      `select id, event_id, ctid::text as ctid, state, dispatch, attempts_made from deliveries where endpoint_id = $1 order by created_at`,
      [id],
    );
  const isArmed = async () => (await rows()).every(({ state }) => state === 'armed');
  await until('both are dispatched', isArmed);
  // Written once more, they may lie at different places; here they are brought to the same one, once no transaction sees their old versions.
  await until('both lie at the same place', async () => {
    await query(database.url, 'vacuum full deliveries_2025_05, deliveries_2025_06');
    const [first, second] = await rows();
    return first?.ctid === second?.ctid;
  });
  const [may, june] = await rows();
  const itemOf = (row: typeof may) => ({
    delivery: { organizationId, environment: 'live', deliveryId: row?.id ?? '' },
    dispatch: row?.dispatch ?? 0,
  });
  expect((await clients.dispatcher.beginDelivery({ items: [itemOf(may), itemOf(june)] })).results).toMatchObject([
    { begun: { eventId: 'evt_may' } },
    { begun: { eventId: 'evt_june' } },
  ]);
  const answer = { status: 200, body: '', retryAfterMs: 0, durationMs: 1 };
  await clients.dispatcher.endDelivery({ items: [{ ...itemOf(june), answer }] });
  expect((await rows()).map(({ event_id, state, attempts_made }) => [event_id, state, attempts_made])).toEqual([
    ['evt_may', 'armed', 0],
    ['evt_june', 'delivered', 1],
  ]);
  const failure = { reason: 'timeout', durationMs: 1 };
  await clients.dispatcher.endDelivery({ items: [{ ...itemOf(may), failure }] });
  expect((await rows()).map(({ event_id, state, attempts_made }) => [event_id, state, attempts_made])).toEqual([
    ['evt_may', 'waiting', 1],
    ['evt_june', 'delivered', 1],
  ]);
});

test('an expired event, or one far in the future, delays no other event', async () => {
  at('2025-07-10T00:00:00Z');
  const id = await endpoint();
  await receive(eventOf('evt_old', '2025-04-30T00:00:00Z'), eventOf('evt_ahead', '2025-09-01T00:00:00Z'), eventOf('evt_now'));
  expect(await listedOf(id)).toMatchObject({ events: ['evt_now'], total: '1' });
  await receive(eventOf('evt_odd', 'yesterday'), eventOf('evt_next', '2025-08-20T00:00:00Z'), eventOf('evt_last', '2025-06-03T00:00:00Z'));
  expect((await listedOf(id)).events.toSorted()).toEqual(['evt_last', 'evt_next', 'evt_now']);
});

test('an event whose partition would be dropped before the schedule of a new delivery is over is not sent any more', async () => {
  at('2026-01-31T12:00:00Z');
  const id = await endpoint();
  at('2026-02-28T12:00:00Z');
  await receive(eventOf('evt_late', '2026-01-31T11:00:00Z'));
  const { ids } = await listedOf(id);
  at('2026-03-01T12:00:00Z');
  await as(() => clients.gateway.redeliver({ endpointId: id, deliveryId: ids[0] as string }));
  // The partition of January may be dropped on 10 March.
  at('2026-03-09T12:00:00Z');
  await receive(eventOf('evt_too_late', '2026-01-31T11:00:00Z'), eventOf('evt_february', '2026-02-01T00:00:00Z'));
  expect((await listedOf(id)).events.toSorted()).toEqual(['evt_february', 'evt_late', 'evt_late']);
  await expect(as(() => clients.gateway.redeliver({ endpointId: id, deliveryId: ids[0] as string }))).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('deliveries whose event is gone end as dropped, and give their places to newer ones', async () => {
  at('2023-01-31T23:00:00Z');
  const id = await endpoint();
  await receive(eventOf('evt_gone'));
  const rows = (eventId: string) =>
    query<{ id: string; state: string; dispatch: number; ended_at: Date | null }>(
      database.url,
      'select id, state, dispatch, ended_at from deliveries where endpoint_id = $1 and event_id = $2 order by created_at',
      [id, eventId],
    );
  const areArmed = async (eventId: string) => (await rows(eventId)).every(({ state }) => state === 'armed');
  const itemOf = ({ id: deliveryId, dispatch }: { id: string; dispatch: number }) => ({
    delivery: { organizationId, environment: 'live', deliveryId },
    dispatch,
  });
  await until('the first is dispatched', () => areArmed('evt_gone'));
  const [first] = (await rows('evt_gone')).map(itemOf);
  await clients.dispatcher.endDelivery({ items: [{ ...first, answer: { status: 200, body: '', retryAfterMs: 0, durationMs: 1 } }] });
  at('2023-03-02T12:00:00Z');
  const deliveryId = first?.delivery.deliveryId as string;
  for (let n = 0; n < laneWidth; n += 1) await as(() => clients.gateway.redeliver({ endpointId: id, deliveryId }));
  at('2023-03-11T12:00:00Z');
  await receive(eventOf('evt_newer'));
  expect(await months.drop(clock)).toEqual(['deliveries_2023_01', 'events_2023_01']);
  await until('the redeliveries are dispatched', () => areArmed('evt_gone'));
  expect(await rows('evt_newer')).toMatchObject([{ state: 'waiting' }]);

  const items = (await rows('evt_gone')).map(itemOf);
  const { results } = await clients.dispatcher.beginDelivery({ items });
  expect(results).toEqual(items.map(() => ({ begun: null })));
  expect(await rows('evt_gone')).toMatchObject(items.map(({ dispatch }) => ({ state: 'dropped', dispatch: dispatch + 1 })));
  const { deliveries } = await as(() => clients.gateway.listDeliveries({ endpointId: id }));
  expect(deliveries[1]).toMatchObject({ eventId: 'evt_gone', status: 'dropped', endedAt: '2023-03-11T12:00:00.000Z' });
  await until('the newer one is dispatched', () => areArmed('evt_newer'));
  const newer = (await rows('evt_newer')).map(itemOf);
  expect((await clients.dispatcher.beginDelivery({ items: newer })).results).toMatchObject([{ begun: { eventId: 'evt_newer' } }]);
});

test('events are received while the partition of the next month cannot be created, as during an ANALYZE', async () => {
  at('2025-10-31T23:59:00Z');
  const id = await endpoint();
  await months.ensure(clock);
  const analyzing = new Client({ connectionString: database.url, options: `-c search_path=${schema}` });
  await analyzing.connect();
  await analyzing.query('begin; analyze events; analyze deliveries');
  at('2025-11-01T00:00:01Z');
  await receive(eventOf('evt_november'), eventOf('evt_october', '2025-10-31T23:59:59Z')).finally(() => analyzing.end());
  expect((await listedOf(id)).events.toSorted()).toEqual(['evt_november', 'evt_october']);
});

test('a process that starts does not wait for one that was frozen while it made the same partitions', async () => {
  at('2025-12-10T00:00:00Z');
  await months.ensure(clock);
  const frozen = new Client({ connectionString: database.url });
  await frozen.connect();
  for (const name of await partitions()) await frozen.query('select pg_advisory_lock(hashtextextended($1, 0))', [`${name} partition`]);
  await createMonths(past.started)
    .ensure(clock)
    .finally(() => frozen.end());
});

test('a process whose clock is ahead removes only what has expired by the clock of the database', async () => {
  const now = Date.now();
  await months.ensure(now);
  const name = `deliveries_${new Date(now).toISOString().slice(0, 7).replace('-', '_')}`;
  await months.drop(now + 400 * 24 * 3_600_000);
  expect(await partitions()).toContain(name);
});

test('a delivery that a process with a clock ahead had dated stops no migration', async () => {
  const { url, drop } = await testDatabase();
  try {
    await migrate({ url, schema, migrations: migrations.slice(0, 3) });
    await query(
      url,
      `insert into deliveries (organization_id, environment, id, endpoint_id, event_id, event_type, state, due_at, created_at)
       values ('org_a', 'live', 'dlv_1', 'whk_1', 'evt_1', 'agent.created', 'waiting', now(), now() + interval '40 days')`,
    );
    await migrate({ url, schema, migrations });
    expect(await query(url, `select id from deliveries`)).toEqual([{ id: 'dlv_1' }]);
  } finally {
    await drop();
  }
});

test('rows from before the partitions are kept, counted by their months, and found by their ids', async () => {
  const { url, drop } = await testDatabase();
  try {
    await migrate({ url, schema, migrations: migrations.slice(0, 3) });
    await query(
      url,
      `insert into endpoints (organization_id, environment, id, url, events, description, active, secret, deliveries, created_at, updated_at)
       values ('org_a', 'live', 'whk_1', 'https://hooks.example.com', '{agent.created}', '', true, '', 3, now(), now())`,
    );
    await query(
      url,
      `insert into events (organization_id, environment, id, type, body, received_at)
       select 'org_a', 'live', 'evt_' || n, 'agent.created', '{}', now() from generate_series(1, 3) n`,
    );
    await query(
      url,
      `insert into deliveries (organization_id, environment, id, endpoint_id, event_id, event_type, state, due_at, created_at)
       select 'org_a', 'live', 'dlv_' || n, 'whk_1', 'evt_' || n, 'agent.created', 'waiting', now(), date_trunc('month', now()) - (n - 2) * interval '1 day'
       from generate_series(1, 3) n`,
    );
    await migrate({ url, schema, migrations });
    const [{ counts, rows, again } = { counts: {}, rows: 0, again: 1 }] = await query<{ counts: object; rows: number; again: number }>(
      url,
      `with again as (
         insert into events (organization_id, environment, id, type, body, received_at) values ('org_a', 'live', 'evt_1', 'agent.created', '{}', now())
         on conflict do nothing returning 1)
       select deliveries_by_month as counts, (select count(*)::integer from deliveries) as rows, (select count(*)::integer from again) as again
       from endpoints`,
    );
    const month = new Date().toISOString().slice(0, 7);
    expect([Object.values(counts).toSorted(), rows, again]).toEqual([[1, 2], 3, 0]);
    expect((counts as Record<string, number>)[month]).toBe(2);
    // The tables that hold it are made and found as if they had always been so.
    expect(await query(url, `select 1 from pg_inherits where inhrelid = 'deliveries_first'::regclass`)).toHaveLength(1);
  } finally {
    await drop();
  }
});
