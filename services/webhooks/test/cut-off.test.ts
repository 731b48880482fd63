import {
  type Receiver,
  type ServiceProcess,
  serviceProcess,
  silentProxy,
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

/** A dispatcher that takes half of the jobs gets one of so many events in a row. */
const inARow = 20;

let database: TestDatabase;
let target: Receiver;
let proxy: Awaited<ReturnType<typeof silentProxy>>;
let webhooks: ServiceProcess;
let dispatchers: ServiceProcess[];
let clients: Clients;
let events = 0;

beforeAll(async () => {
  let redisUrl: string;
  let caFile: string;
  [database, { url: redisUrl }, { target, caFile }] = await Promise.all([
    testDatabase(),
    testRedis(),
    trustedReceiver(() => ({ status: 200 })),
  ]);
  webhooks = await serviceProcess('webhooks', webhooksSettings({ databaseUrl: database.url, redisUrl }));
  await webhooks.start();
  proxy = await silentProxy(`grpc://${webhooks.address}`);
  const addresses = [webhooks.address, new URL(proxy.url).host];
  dispatchers = await Promise.all(
    addresses.map((address) => serviceProcess('webhook-dispatcher', dispatcherSettings(redisUrl, address, caFile))),
  );
  await Promise.all(dispatchers.map((each) => each.start()));
  clients = connectTo(webhooks.address);
  await asCaller({}, () => clients.gateway.createEndpoint({ url: target.url, events: ['credits.depleted'], active: true }));
});

afterAll(async () => {
  clients?.close();
  await Promise.all((dispatchers ?? []).map((each) => each.stop()));
  await proxy?.close();
  await webhooks?.stop();
  await target?.stop();
  await database?.drop();
});

async function emit(): Promise<string> {
  events += 1;
  const id = `evt_${events}`;
  const event = { id, type: 'credits.depleted', organizationId: 'org_a', environment: 'live', dataJson: '{}' };
  await clients.credits.receiveEvents({ events: [{ ...event, createdAt: new Date().toISOString() }] });
  return id;
}

/** The number of the dispatch by which the event was delivered; 0 before it is. */
async function dispatchOf(eventId: string): Promise<number> {
  const [row] = await query<{ dispatch: number }>(
    database.url,
    `select dispatch from deliveries where event_id = $1 and state = 'delivered'`,
    [eventId],
  );
  return row?.dispatch ?? 0;
}

async function deliver(): Promise<number> {
  const id = await emit();
  await until(`${id} is delivered`, async () => (await dispatchOf(id)) > 0);
  return await dispatchOf(id);
}

test('a dispatcher that webhooks does not answer leaves the jobs to another, and takes some again afterwards', async () => {
  const first = await deliver();
  proxy.silence();
  await until('it takes no jobs', async () => {
    for (let count = 0; count < inARow; count += 1) if ((await deliver()) > first) return false;
    return true;
  });
  proxy.speak();
  await dispatchers[0]?.stop();
  expect(await deliver()).toBeGreaterThan(0);
}, 120_000);
