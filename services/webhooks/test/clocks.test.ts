import {
  type ClockShifts,
  clockShifts,
  type Receiver,
  type ReceiverAnswer,
  type ServiceProcess,
  serviceProcess,
  type TestDatabase,
  testDatabase,
  testRedis,
  until,
} from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { query } from './boot.ts';
import { asCaller, type Clients, connectTo } from './clients.ts';
import { trustedReceiver } from './receivers.ts';
import { dispatcherSettings, webhooksSettings } from './settings.ts';

const [second, minute, day] = [1_000, 60_000, 86_400_000];
/** FAULTS=long: all of them. */
const shifts = process.env['FAULTS'] === 'long' ? [1_200, 20 * second, 40 * day, -40 * day] : [1_200, 40 * day];
/** The clock is measured over a round trip, and this test compares it with its own. */
const toleranceMs = 900;

let database: TestDatabase;
let redisUrl: string;
let target: Receiver;
let answer: ReceiverAnswer;
let clocks: ClockShifts;
let caFile: string;
let partitions: string[];
let events = 0;

beforeAll(async () => {
  [database, { url: redisUrl }, { target, caFile }, clocks] = await Promise.all([
    testDatabase(),
    testRedis(),
    trustedReceiver(() => answer),
    clockShifts(),
  ]);
  const right = await serviceProcess('webhooks', webhooksSettings({ databaseUrl: database.url, redisUrl }));
  await right.start();
  await right.stop();
  // Retention must not remove what a clock that is 40 days ahead takes for old.
  await query(
    database.url,
    `insert into endpoints (organization_id, environment, id, url, events, description, active, secret, deleted_at, created_at, updated_at)
     values ('org_old', 'live', 'whk_old', '', '{}', '', false, '', now(), now(), now())`,
  );
  partitions = await partitionsOf();
});

afterAll(async () => {
  await target?.stop();
  await database?.drop();
});

const partitionsOf = async () =>
  (
    await query<{ name: string }>(
      database.url,
      `select inhrelid::regclass::text as name from pg_inherits where inhparent in ('events'::regclass, 'deliveries'::regclass) order by 1`,
    )
  ).map(({ name }) => name);

interface World {
  webhooks: ServiceProcess;
  dispatcher: ServiceProcess;
  clients: Clients;
  endpointId: string;
}

async function emit({ clients }: Pick<World, 'clients'>): Promise<string> {
  events += 1;
  const id = `evt_${events}`;
  const event = { id, type: 'credits.depleted', organizationId: 'org_a', environment: 'live', dataJson: '{}' };
  await clients.credits.receiveEvents({ events: [{ ...event, createdAt: new Date().toISOString() }] });
  return id;
}

async function deliveryOf({ clients, endpointId }: World, eventId: string) {
  const { deliveries } = await asCaller({}, () => clients.gateway.listDeliveries({ endpointId, page: { limit: 100 } }));
  return deliveries.find((each) => each.eventId === eventId);
}

const attempted = async (world: World, eventId: string) => {
  await until(`${eventId} is attempted`, async () => (await deliveryOf(world, eventId))?.attempts.length === 1);
  return await deliveryOf(world, eventId);
};

const expectNow = (time: number) => expect(Math.abs(time - Date.now())).toBeLessThan(toleranceMs + 15 * second);

/** Everything that a wrong clock could reach: the times of a delivery and of its retry, the signature, secrets and retention. */
async function expectRightTimes(world: World): Promise<void> {
  const sentBefore = target.requests.length;
  const began = Date.now();
  answer = { status: 503, headers: { 'retry-after': new Date(began + 10 * minute).toUTCString() } };
  const id = await emit(world);
  const delivery = await attempted(world, id);
  const ended = Date.now();
  const within = (time: number, from: number, to: number) => {
    expect(time).toBeGreaterThanOrEqual(from - toleranceMs);
    expect(time).toBeLessThanOrEqual(to + toleranceMs);
  };
  within(Date.parse(delivery?.createdAt ?? ''), began, ended);
  within(Date.parse(delivery?.attempts[0]?.at ?? ''), began, ended);
  // The header has whole seconds, and what is asked for is longer than the first pause of the schedule.
  within(Date.parse(delivery?.nextAttemptAt ?? ''), began + 10 * minute - second, ended + 10 * minute + second);
  const request = target.requests.slice(sentBefore).find(({ headers }) => headers['webhook-id'] === id);
  within(Number(request?.headers['webhook-timestamp']) * 1_000, began - second, ended);
  const { gateway } = world.clients;
  const { previousSecretUntil } = await asCaller({}, () => gateway.rotateSecret({ endpointId: world.endpointId }));
  expectNow(Date.parse(previousSecretUntil) - day);
  expect(await partitionsOf()).toEqual(partitions);
  expect(await query(database.url, "select id from endpoints where id = 'whk_old'")).toHaveLength(1);
  const [row] = await query<{ away: number }>(
    database.url,
    `select count(*)::int as away from endpoints where abs(extract(epoch from coalesce(look_at, now()) - now())) > 3600`,
  );
  expect(row?.away).toBe(0);
}

const attemptsBy = async (dispatcher: ServiceProcess) => {
  const text = await (await fetch(`${dispatcher.opsUrl}/metrics`)).text();
  return [...text.matchAll(/^webhook_attempts_total\{[^}]*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
};

test.each(shifts)(
  'clocks of webhooks and of a dispatcher that are %i ms ahead when they start, and later, change no time',
  async (aheadMs) => {
    const isWrong = Math.abs(aheadMs) > 2 * second;
    const faults = { webhooks: isWrong ? ['clock'] : [], shifted: isWrong ? ['clock', 'webhooks'] : [] };
    const webhooks = await serviceProcess('webhooks', {
      ...webhooksSettings({ databaseUrl: database.url, redisUrl }),
      ...clocks.settingsAhead(aheadMs),
    });
    const shifted = await serviceProcess('webhook-dispatcher', {
      ...dispatcherSettings(redisUrl, webhooks.address, caFile),
      ...clocks.settingsAhead(aheadMs),
    });
    const other = await serviceProcess('webhook-dispatcher', dispatcherSettings(redisUrl, webhooks.address, caFile));
    const shift = (ahead: number) => {
      for (const each of [webhooks, shifted]) clocks.shift({ kill: (signal) => each.signal(signal) }, ahead);
    };
    const clients = connectTo(webhooks.address);
    try {
      await webhooks.start(faults.webhooks);
      await shifted.start(faults.shifted);
      const url = `${target.url}/${aheadMs}`;
      const { endpoint } = await asCaller({}, () => clients.gateway.createEndpoint({ url, events: ['credits.depleted'], active: true }));
      const world = { webhooks, dispatcher: shifted, clients, endpointId: endpoint?.id ?? '' };
      // A dispatcher that is not ready leaves the jobs to another.
      if (isWrong) await other.start(['webhooks']);
      await expectRightTimes(world);
      if (isWrong) {
        for (let count = 0; count < 20; count += 1) await emit(world);
        await until('all are sent', () => target.requests.filter(({ path }) => path === `/${aheadMs}`).length >= 21);
        expect(await attemptsBy(shifted)).toBe(0);
        await other.stop();
      }
      shift(0);
      await Promise.all([webhooks, shifted].map((each) => each.untilFaults([])));
      await expectRightTimes(world);
      expect(await attemptsBy(shifted)).toBeGreaterThan(0);
      shift(aheadMs);
      await webhooks.untilFaults(faults.webhooks);
      await shifted.untilFaults(faults.shifted);
      const before = await attemptsBy(shifted);
      if (isWrong) await other.start(['webhooks']);
      await expectRightTimes(world);
      if (isWrong) expect(await attemptsBy(shifted)).toBe(before);
    } finally {
      clients.close();
      for (const each of [shifted, other, webhooks]) await each.stop();
    }
  },
);

test('a dispatcher whose readiness no supervisor asks for sends deliveries', async () => {
  const webhooks = await serviceProcess('webhooks', webhooksSettings({ databaseUrl: database.url, redisUrl }));
  const dispatcher = await serviceProcess('webhook-dispatcher', dispatcherSettings(redisUrl, webhooks.address, caFile));
  const clients = connectTo(webhooks.address);
  try {
    await webhooks.start();
    await dispatcher.start('alive');
    answer = { status: 200 };
    const url = `${target.url}/unasked`;
    const { endpoint } = await asCaller({}, () => clients.gateway.createEndpoint({ url, events: ['credits.depleted'], active: true }));
    await attempted({ webhooks, dispatcher, clients, endpointId: endpoint?.id ?? '' }, await emit({ clients }));
  } finally {
    clients.close();
    for (const each of [dispatcher, webhooks]) await each.stop();
  }
});
