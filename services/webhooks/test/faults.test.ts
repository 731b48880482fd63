import { setTimeout as pause } from 'node:timers/promises';
import {
  type OwnPostgres,
  type OwnRedis,
  ownPostgres,
  ownRedis,
  type Receiver,
  type ReceiverAnswer,
  randomFrom,
  runSeed,
  type ServiceProcess,
  serviceProcess,
  until,
} from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { query } from './boot.ts';
import { asCaller, type Clients, connectTo } from './clients.ts';
import { trustedReceiver } from './receivers.ts';
import { dispatcherSettings, webhooksSettings } from './settings.ts';

/** How many events; the long form takes 5,000 and more. */
const total = Number(process.env['WEBHOOK_FAULT_EVENTS'] ?? 300);
const batch = 25;
const endpoints = 5;
/** The pause of a relay between two attempts. */
const retryMs = 100;
/** So slow that each fault meets deliveries that were sent and not yet answered. */
const answerMs = 40;
const settleLimitMs = 60_000 + total * endpoints * 12;

let postgres: OwnPostgres;
let redis: OwnRedis;
let target: Receiver;
let webhooks: ServiceProcess;
let dispatchers: ServiceProcess[];
let clients: Clients;

beforeAll(async () => {
  let caFile: string;
  [postgres, redis, { target, caFile }] = await Promise.all([ownPostgres(), ownRedis(), trustedReceiver(answerSoon)]);
  webhooks = await serviceProcess('webhooks', webhooksSettings({ databaseUrl: postgres.url, redisUrl: redis.url }));
  await webhooks.start();
  const settings = dispatcherSettings(redis.url, webhooks.address, caFile);
  dispatchers = await Promise.all([1, 2].map(() => serviceProcess('webhook-dispatcher', settings)));
  await Promise.all(dispatchers.map((each) => each.start()));
  clients = connectTo(webhooks.address);
  for (let index = 0; index < endpoints; index += 1) await createEndpoint(index);
});

afterAll(async () => {
  clients.close();
  await Promise.all(dispatchers.map((each) => each.stop()));
  await webhooks.stop();
  await Promise.all([target.stop(), redis.stop(), postgres.remove()]);
});

async function answerSoon(): Promise<ReceiverAnswer> {
  await pause(answerMs);
  return { status: 200 };
}

const createEndpoint = (index: number) =>
  asCaller({}, () => clients.gateway.createEndpoint({ url: `${target.url}/${index}`, events: ['credits.depleted'], active: true }));

test(
  'SIGKILL of dispatchers and webhooks, FLUSHALL and a PostgreSQL that restarts, under load: every event reaches every endpoint',
  async () => {
    const random = randomFrom(runSeed('webhook faults'));
    const faults = [
      () => killed(dispatchers[0] as ServiceProcess),
      flushed,
      () => killed(webhooks),
      flushed,
      restarted,
      () => killed(dispatchers[1] as ServiceProcess),
    ];
    const share = Math.ceil(total / faults.length / batch) * batch;
    for (const [index, strike] of faults.entries()) {
      const [from, to] = [index * share, Math.min(total, (index + 1) * share)];
      const reached = Promise.withResolvers<void>();
      const load = sendEvents(from, to, from + random.below(to - from), reached.resolve);
      // Half of the events are sent; some deliveries are in flight.
      await reached.promise;
      await until('deliveries are in flight', async () => (await inFlight()) > 0);
      await strike();
      await load;
    }
    await until('every delivery has ended', async () => (await pending()) === 0, settleLimitMs);
    await proveAll();
  },
  60_000 + settleLimitMs + total * 20,
);

async function sendEvents(from: number, to: number, mark: number, onMark: () => void): Promise<void> {
  for (let first = from; first < to; first += batch) {
    if (first + batch > mark) onMark();
    await sendBatch(Array.from({ length: Math.min(batch, to - first) }, (_, index) => `evt_${first + index}`));
  }
}

/** Repeats a batch until it was received, as a relay does. */
async function sendBatch(ids: readonly string[]): Promise<void> {
  const events = ids.map((id) => ({
    id,
    type: 'credits.depleted',
    organizationId: 'org_a',
    environment: 'live',
    createdAt: new Date().toISOString(),
    dataJson: JSON.stringify({ id }),
  }));
  for (;;) {
    const isReceived = await clients.credits.receiveEvents({ events }).then(
      () => true,
      () => false,
    );
    if (isReceived) return;
    await pause(retryMs);
  }
}

async function killed(victim: ServiceProcess): Promise<void> {
  await victim.kill();
  await victim.start();
}

async function flushed(): Promise<void> {
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
}

async function restarted(): Promise<void> {
  await postgres.stop();
  await postgres.start();
}

async function count(where: string): Promise<number> {
  const [row] = await query<{ count: number }>(postgres.url, `select count(*)::int from deliveries where ${where}`);
  return row?.count ?? 0;
}

const pending = () => count('ended_at is null');
const inFlight = () => count("state = 'armed'");

/** Each event came at each endpoint at least once, under its own id, with its own body; the rows say the same. */
async function proveAll(): Promise<void> {
  const came = new Map<string, Set<string>>();
  for (const { path, headers, body } of target.requests) {
    const id = headers['webhook-id'] ?? '';
    expect(JSON.parse(body)).toMatchObject({ id, data: { id } });
    came.set(path, (came.get(path) ?? new Set()).add(id));
  }
  const expected = Array.from({ length: total }, (_, index) => `evt_${index}`);
  for (let index = 0; index < endpoints; index += 1) expect(expected.filter((id) => !came.get(`/${index}`)?.has(id))).toEqual([]);
  const states = await query<{ state: string; count: number }>(postgres.url, 'select state, count(*)::int from deliveries group by 1');
  expect(states).toEqual([{ state: 'delivered', count: total * endpoints }]);
  process.stdout.write(`webhook faults: ${total * endpoints} deliveries, ${target.requests.length} requests\n`);
}
