import type { Sql } from '@agent-service/store';
import { countLockWaits, until } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { saveDelivered } from '../src/store/attempts.ts';
import { returnToQueue } from '../src/store/queue.ts';
import { type BootedService, boot, connect, holdInsert, query } from './boot.ts';
import { asCaller } from './clients.ts';

const [second, minute, day] = [1_000, 60_000, 86_400_000];

let webhooks: BootedService;
let clock: number;
let organizationId: string;
let organizations = 0;

/** The service without a dispatcher: what it adds to Redis stays there. */
beforeAll(async () => {
  clock = Date.parse('2026-03-01T12:00:00Z');
  webhooks = await boot({ now: () => clock });
});
beforeEach(() => {
  organizations += 1;
  organizationId = `org_${organizations}`;
});
afterAll(() => webhooks.stop());

const as = <T>(work: () => T) => asCaller({ organizationId }, work);

async function create(): Promise<string> {
  const request = { url: 'https://127.0.0.1/in', events: ['agent.created'], active: true };
  return (await as(() => webhooks.gateway.createEndpoint(request))).endpoint?.id ?? '';
}

const receive = (...ids: string[]) =>
  webhooks.credits.receiveEvents({
    events: ids.map((id) => ({
      id,
      type: 'agent.created',
      organizationId,
      environment: 'live',
      createdAt: new Date(clock).toISOString(),
      dataJson: '{}',
    })),
  });

interface DeliveryRow {
  id: string;
  event_id: string;
  state: string;
  dispatch: number;
  due_at: Date;
}

const rowsOf = (webhookId: string) =>
  query<DeliveryRow>(
    webhooks.databaseUrl,
    'select id, event_id, state, dispatch, due_at from deliveries where endpoint_id = $1 order by event_id',
    [webhookId],
  );
const statesOf = async (webhookId: string) => (await rowsOf(webhookId)).map(({ state }) => state);
const untilArmed = (webhookId: string, count: number) =>
  until(`${count} are dispatched`, async () => (await statesOf(webhookId)).filter((state) => state === 'armed').length === count);
const lookAtOf = async (webhookId: string) =>
  (await query<{ look_at: Date | null }>(webhooks.databaseUrl, 'select look_at from endpoints where id = $1', [webhookId]))[0]?.look_at;
const deliveryLookAt = async (webhookId: string) =>
  Number(
    (await query<{ look_at: Date }>(webhooks.databaseUrl, 'select look_at from deliveries where endpoint_id = $1', [webhookId]))[0]
      ?.look_at,
  );

const end = ({ id, dispatch }: DeliveryRow, status: number, retryAfterMs = 0) => ({
  delivery: { organizationId, environment: 'live', deliveryId: id },
  dispatch,
  answer: { status, body: '', retryAfterMs, durationMs: 1 },
});

test('a delivery that is returned at a replica whose clock is behind is not due before it was created', async () => {
  const id = await create();
  await receive('evt_1');
  await untilArmed(id, 1);
  const [armed] = await rowsOf(id);
  const createdAt = armed?.due_at;
  clock -= second;
  const items = (await rowsOf(id)).map(({ id: deliveryId, dispatch }) => ({
    delivery: { organizationId, environment: 'live', deliveryId },
    dispatch,
    returned: {},
  }));
  await webhooks.dispatcher.endDelivery({ items });
  clock += second;
  expect((await rowsOf(id)).map(({ due_at }) => due_at)).toEqual([createdAt]);
});

test('a queue in which nothing waits is not checked again, until a delivery is added', async () => {
  const id = await create();
  await receive('evt_1');
  await untilArmed(id, 1);
  expect(await lookAtOf(id)).toEqual(new Date(clock + 2 * second));
  clock += 2 * second;
  await until('its queue is checked', async () => (await lookAtOf(id)) === null);
  await webhooks.dispatcher.endDelivery({ items: (await rowsOf(id)).map((row) => end(row, 200)) });
  const [delivery] = await rowsOf(id);
  await as(() => webhooks.gateway.redeliver({ endpointId: id, deliveryId: delivery?.id ?? '' }));
  expect(await lookAtOf(id)).toEqual(new Date(clock + 2 * second));
});

test('the queue of a deleted webhook is not checked again after an event that arrives late', async () => {
  const id = await create();
  const database = await connect(webhooks.databaseUrl);
  try {
    await holdInsert(database, { organizationId, eventId: 'evt_late', at: new Date(clock) });
    const receiving = receive('evt_late');
    await until('the event waits', () => isWaiting('insert into events'));
    await as(() => webhooks.gateway.deleteEndpoint({ endpointId: id }));
    expect(await lookAtOf(id)).toBeNull();
    await database.query('rollback');
    await receiving;
  } finally {
    await database.end();
  }
  await until('its delivery is dropped', async () => (await statesOf(id)).join() === 'dropped');
  clock += 10 * second;
  await until('its queue is checked', async () => (await lookAtOf(id)) === null);
});

const isWaiting = async (statement: string) => (await countLockWaits(webhooks.databaseUrl, statement)) > 0;

test('retries wait in the database only, and are dispatched when they are due', async () => {
  const id = await create();
  const redis = new Redis(webhooks.redisUrl);
  try {
    const key = (list: string) => `{deliveries}:deliveries:${list}`;
    const jobsBefore = await redis.llen(key('wait'));
    await receive('evt_1', 'evt_2');
    await untilArmed(id, 2);
    clock += 2 * second;
    await until('its queue is checked', async () => (await lookAtOf(id)) === null);
    const [soon, late] = (await rowsOf(id)) as [DeliveryRow, DeliveryRow];
    await webhooks.dispatcher.endDelivery({ items: [end(soon, 500), end(late, 503, day)] });
    expect(await lookAtOf(id)).toEqual((await rowsOf(id))[0]?.due_at);
    // A job that is added later is there, so anything that was added for the retries would be.
    await receive('evt_3');
    await until(
      'the jobs of the first two events and of the third are added',
      async () => (await redis.llen(key('wait'))) === jobsBefore + 2,
    );
    expect(await redis.zcard(key('delayed'))).toBe(0);
  } finally {
    redis.disconnect();
  }
  const [soon, late] = (await rowsOf(id)) as [DeliveryRow, DeliveryRow];
  expect([soon.state, late.state]).toEqual(['waiting', 'waiting']);
  expect(soon.due_at.getTime() - clock).toBeGreaterThanOrEqual(minute);
  expect(late.due_at).toEqual(new Date(clock + day));
  clock = soon.due_at.getTime();
  await until('the first is dispatched at its time', async () => (await statesOf(id))[0] === 'armed');
  expect((await statesOf(id))[1]).toBe('waiting');
  clock = late.due_at.getTime();
  await until('the second is dispatched at its time', async () => (await statesOf(id))[1] === 'armed');
});

test('deliveries of a job that its dispatcher left minutes ago are dispatched again though Redis still has it', async () => {
  const id = await create();
  await receive('evt_left');
  await untilArmed(id, 1);
  const redis = new Redis(webhooks.redisUrl);
  const key = (of: string) => `{deliveries}:deliveries:${of}`;
  const dispatches = async () => (await rowsOf(id))[0]?.dispatch ?? 0;
  const before = await dispatches();
  try {
    const [{ job } = { job: '' }] = await query<{ job: string }>(
      webhooks.databaseUrl,
      'select job from deliveries where endpoint_id = $1',
      [id],
    );
    await until('the job is added', async () => (await redis.exists(key(job))) === 1);
    await redis.hset(key(job), 'timestamp', 1);
    clock += 10 * second;
    await until('it is checked', async () => (await deliveryLookAt(id)) > clock);
    expect(await dispatches()).toBe(before);
    expect(await redis.lrem(key('wait'), 1, job)).toBe(1);
    await redis.lpush(key('active'), job);
    clock += 10 * second;
    await until('it is dispatched again', async () => (await dispatches()) > before);
  } finally {
    redis.disconnect();
  }
});

test('lost deliveries return to their queue without a lock that the end of an attempt waits for', async () => {
  const id = await create();
  await receive('evt_lost');
  await untilArmed(id, 1);
  const [before] = await rowsOf(id);
  const database = await connect(webhooks.databaseUrl);
  try {
    await database.query('begin');
    await database.query('select 1 from endpoints where id = $1 for no key update', [id]);
    await query(webhooks.databaseUrl, "update deliveries set job = 'lost' where endpoint_id = $1", [id]);
    clock += 10 * second;
    await until('its return waits for the webhook', () => isWaiting('look_at = least(endpoint.look_at, $4) from locked'));
    // The end of an attempt has the webhook and takes the delivery.
    await database.query('select 1 from deliveries where endpoint_id = $1 for no key update nowait', [id]);
    await database.query('rollback');
  } finally {
    await database.end();
  }
  await until('it is dispatched again', async () => {
    // Where the wait took too long, a later check returns it.
    clock += 10 * second;
    return (await rowsOf(id)).some(({ state, dispatch }) => state === 'armed' && dispatch > (before?.dispatch ?? 0));
  });
});

test('lost deliveries of one tenant return while a webhook of another is locked', async () => {
  const createArmed = async (name: string) => {
    organizationId = name;
    const id = await create();
    await receive(`evt_${name}`);
    await untilArmed(id, 1);
    return id;
  };
  const [locked, free] = [await createArmed('org_shut'), await createArmed('org_open')];
  const dispatchOf = async (id: string) => (await rowsOf(id))[0]?.dispatch ?? 0;
  const before = [await dispatchOf(locked), await dispatchOf(free)] as const;
  const database = await connect(webhooks.databaseUrl);
  try {
    await database.query('begin');
    await database.query('select 1 from endpoints where id = $1 for no key update', [locked]);
    await query(webhooks.databaseUrl, "update deliveries set job = 'lost' where endpoint_id = any($1)", [[locked, free]]);
    clock += 10 * second;
    await until('the free one is dispatched again', async () => (await dispatchOf(free)) > before[1]);
    expect(await dispatchOf(locked)).toBe(before[0]);
    await database.query('rollback');
  } finally {
    await database.end();
  }
  await until('the delivery of the locked webhook is dispatched again', async () => {
    clock += 10 * second;
    return (await dispatchOf(locked)) > before[0];
  });
});

test('deliveries that return to their queue while a call reports them in a different order are locked in one order', async () => {
  const webhookId = await create();
  await receive('evt_1', 'evt_2', 'evt_3');
  await untilArmed(webhookId, 3);
  const keys = (await rowsOf(webhookId))
    .map(({ id, dispatch }) => ({ organizationId, environment: 'live', webhookId, deliveryId: id, dispatch, job: 'lost' }) as const)
    .toSorted((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1));
  const outcome = { kind: 'answered', status: 200, body: '', retryAfterMs: 0, durationMs: 1 } as const;
  const sessions = await Promise.all([1, 2, 3].map(() => connect(webhooks.databaseUrl)));
  const [holding, ...sqls] = sessions.map(
    (session): Sql =>
      async (text, values = []) =>
        (await session.query(text, [...values])).rows,
  ) as [Sql, Sql, Sql];
  try {
    await holding('begin');
    await holding('select 1 from deliveries where id = $1 for update', [keys[1]?.deliveryId]);
    const reported = keys.toReversed().map((key, position) => ({ ...key, position, outcome }));
    const works: Promise<unknown>[] = [saveDelivered(sqls[0], reported, clock).then(({ length }) => length)];
    await until('the report waits', () => isWaiting(`set state = 'delivered'`));
    works.push(returnToQueue(sqls[1], keys));
    await until('the return waits', () => isWaiting(`set state = 'waiting'`));
    await holding('rollback');
    expect(await Promise.allSettled(works)).toMatchObject([{ status: 'fulfilled', value: 3 }, { status: 'fulfilled' }]);
  } finally {
    await Promise.all(sessions.map((session) => session.end()));
  }
});
