import { until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { laneWidth, organizationWidth } from '../src/domain/schedule.ts';
import { type BootedService, boot, connect, query } from './boot.ts';
import { asCaller } from './clients.ts';

const webhooksOfBusy = 500;
const eventsOfBusy = 6;

let webhooks: BootedService;
beforeAll(async () => {
  webhooks = await boot();
});
afterAll(() => webhooks.stop());

const as = <T>(organizationId: string, work: () => T) => asCaller({ organizationId }, work);

async function createEndpoint(organizationId: string): Promise<string> {
  const request = { url: 'https://127.0.0.1/in', events: ['agent.created'], active: true };
  return (await as(organizationId, () => webhooks.gateway.createEndpoint(request))).endpoint?.id ?? '';
}

const eventOf = (id: string, organizationId: string) => ({
  id,
  type: 'agent.created',
  organizationId,
  environment: 'live',
  createdAt: new Date().toISOString(),
  dataJson: '{}',
});

interface ArmedRow {
  id: string;
  endpoint_id: string;
  dispatch: number;
}

const armedOf = (organizationId: string) =>
  query<ArmedRow>(webhooks.databaseUrl, `select id, endpoint_id, dispatch from deliveries where organization_id = $1 and state = 'armed'`, [
    organizationId,
  ]);

const endOf = (organizationId: string, { id, dispatch }: ArmedRow, status: number) => ({
  delivery: { organizationId, environment: 'live', deliveryId: id },
  dispatch,
  ...(status === 0
    ? { failure: { reason: 'timeout', durationMs: 15_000 } }
    : { answer: { status, body: '', retryAfterMs: 0, durationMs: 1 } }),
});

/** Endpoints beyond the limit of an organization, as many as it could make over time. */
async function addWebhooks(organizationId: string, count: number): Promise<void> {
  await createEndpoint(organizationId);
  await query(
    webhooks.databaseUrl,
    `insert into endpoints (organization_id, environment, id, url, events, description, active, secret, first_failure_at, created_at, updated_at)
     select organization_id, environment, id || n, url, events, description, active, secret, case when n % 2 = 0 then now() end, now(), now()
     from endpoints, generate_series(2, $2::int) n where organization_id = $1`,
    [organizationId, count],
  );
}

test('500 webhooks of one organization, half of them failing, share its width, each keeps one delivery in flight, and other organizations have theirs', async () => {
  await addWebhooks('org_busy', webhooksOfBusy);
  const honest = await createEndpoint('org_honest');
  for (let n = 0; n < eventsOfBusy; n += 1) await webhooks.credits.receiveEvents({ events: [eventOf(`evt_${n}`, 'org_busy')] });
  await webhooks.credits.receiveEvents({ events: Array.from({ length: 50 }, (_, n) => eventOf(`evt_h${n}`, 'org_honest')) });
  const webhooksArmed = async () => new Set((await armedOf('org_busy')).map(({ endpoint_id }) => endpoint_id)).size;
  await until('each endpoint has its turn', async () => (await webhooksArmed()) === webhooksOfBusy);
  await until('the lane of the honest endpoint is full', async () => (await armedOf('org_honest')).length >= 16);
  expect((await armedOf('org_honest')).every(({ endpoint_id }) => endpoint_id === honest)).toBe(true);
  // Besides the one of each endpoint there are only those that were armed while the organization had room.
  expect((await armedOf('org_busy')).length).toBeLessThanOrEqual(webhooksOfBusy + organizationWidth);

  // All fail or succeed, over and over: the organization never has more.
  for (let round = 0; round < 3; round += 1) {
    const armed = await armedOf('org_busy');
    const items = armed.map((row, index) => endOf('org_busy', row, index % 2 === 0 ? 0 : 200));
    await webhooks.dispatcher.endDelivery({ items });
    await until('each endpoint has another turn', async () => {
      const ended = new Set(armed.map(({ id, dispatch }) => `${id} ${dispatch}`));
      const now = await armedOf('org_busy');
      expect(now.length).toBeLessThanOrEqual(webhooksOfBusy + organizationWidth);
      return now.length >= webhooksOfBusy && now.every(({ id, dispatch }) => !ended.has(`${id} ${dispatch}`));
    });
  }
});

test('one organization alone uses its whole width', async () => {
  for (let n = 0; n < 10; n += 1) await createEndpoint('org_wide');
  await webhooks.credits.receiveEvents({ events: Array.from({ length: 30 }, (_, n) => eventOf(`evt_w${n}`, 'org_wide')) });
  await until('its width is used', async () => (await armedOf('org_wide')).length >= organizationWidth - 10);
  expect((await armedOf('org_wide')).length).toBeLessThanOrEqual(organizationWidth);
});

test('an organization that floods redeliver fills the lane of its own webhook only', async () => {
  const endpointId = await createEndpoint('org_flood');
  await webhooks.credits.receiveEvents({ events: [eventOf('evt_flood', 'org_flood')] });
  await until('the event is dispatched', async () => (await armedOf('org_flood')).length === 1);
  const [first] = await armedOf('org_flood');
  if (!first) throw new Error('no delivery was dispatched');
  await webhooks.dispatcher.endDelivery({ items: [endOf('org_flood', first, 200)] });
  const redeliver = () => as('org_flood', () => webhooks.gateway.redeliver({ endpointId, deliveryId: first.id }));
  // 200 calls, ten at once: of more at once than may wait, the rest would be refused.
  const caller = async () => {
    for (let left = 20; left > 0; left -= 1) await redeliver();
  };
  await Promise.all(Array.from({ length: 10 }, caller));
  await until('its lane is full', async () => (await armedOf('org_flood')).length >= laneWidth);

  await createEndpoint('org_beside');
  await webhooks.credits.receiveEvents({ events: Array.from({ length: 50 }, (_, n) => eventOf(`evt_b${n}`, 'org_beside')) });
  await until('the lane of the other organization is full', async () => (await armedOf('org_beside')).length >= laneWidth);
  expect((await armedOf('org_flood')).length).toBe(laneWidth);
});

test('changes that wait for a locked webhook of one organization leave connections to another', async () => {
  const [locked, free] = [await createEndpoint('org_held'), await createEndpoint('org_spared')];
  const rotate = (organizationId: string, endpointId: string) => as(organizationId, () => webhooks.gateway.rotateSecret({ endpointId }));
  const database = await connect(webhooks.databaseUrl);
  try {
    await database.query('begin');
    await database.query('select 1 from endpoints where id = $1 for update', [locked]);
    const waiting = Array.from({ length: 300 }, () => rotate('org_held', locked));
    const outcomes = Promise.allSettled(waiting);
    // Those that find 250 waiting are refused as too many, and not as a fault of the service.
    await expect(
      Promise.any(
        waiting.map((each) =>
          each.then(
            () => Promise.reject(),
            (cause: unknown) => cause,
          ),
        ),
      ),
    ).resolves.toMatchObject({ code: 'rate_limited' });
    expect((await rotate('org_spared', free)).secret).toMatch(/^whsec_/);
    await database.query('rollback');
    expect((await outcomes).map(({ status }) => status)).toContain('fulfilled');
  } finally {
    await database.end();
  }
});

test('a locked webhook of one tenant delays no outcome of another', async () => {
  const locked = await createEndpoint('org_locked');
  const free = await createEndpoint('org_free');
  const events = ['org_locked', 'org_free'].flatMap((organization) => [1, 2].map((n) => eventOf(`evt_${organization}_${n}`, organization)));
  await webhooks.credits.receiveEvents({ events });
  const armed = async () => [await armedOf('org_locked'), await armedOf('org_free')] as const;
  await until('all are armed', async () => (await armed()).flat().length === 4);
  const [ofLocked, ofFree] = await armed();
  const database = await connect(webhooks.databaseUrl);
  try {
    await database.query('begin');
    await database.query('select 1 from endpoints where id = $1 for update', [locked]);
    // A success notes its time at the endpoint, a failure changes its health.
    const items = [
      ...ofLocked.map((row, n) => endOf('org_locked', row, n * 200)),
      ...ofFree.map((row, n) => endOf('org_free', row, n * 200)),
    ];
    await expect(webhooks.dispatcher.endDelivery({ items })).rejects.toMatchObject({ code: 'outcomes_not_saved' });
    const { deliveries } = await as('org_free', () => webhooks.gateway.listDeliveries({ endpointId: free }));
    expect(deliveries.map(({ attempts }) => attempts.length)).toEqual([1, 1]);
    await database.query('rollback');
    await webhooks.dispatcher.endDelivery({ items });
    const { deliveries: late } = await as('org_locked', () => webhooks.gateway.listDeliveries({ endpointId: locked }));
    expect(late.map(({ attempts }) => attempts.length)).toEqual([1, 1]);
  } finally {
    await database.end();
  }
});

test('events of several tenants with one locked webhook are refused long before another session stops waiting for it', async () => {
  const locked = await createEndpoint('org_shut');
  await createEndpoint('org_open');
  const [database, beside] = [await connect(webhooks.databaseUrl), await connect(webhooks.databaseUrl)];
  const events = [eventOf('evt_shut', 'org_shut'), eventOf('evt_open', 'org_open')] as const;
  try {
    await database.query('begin');
    await database.query('select 1 from endpoints where id = $1 for update', [locked]);
    const ended: string[] = [];
    // A call that is refused is repeated twice, so that three waits of the default limit would take longer than this one.
    await beside.query("set lock_timeout = '3s'");
    const other = beside.query('select 1 from endpoints where id = $1 for update', [locked]).catch(() => ended.push('the other session'));
    await webhooks.credits.receiveEvents({ events: [...events] }).catch(({ code }: { code: string }) => ended.push(code));
    await webhooks.credits.receiveEvents({ events: [events[1]] });
    ended.push('its own events');
    await other;
    expect(ended).toEqual(['unavailable', 'its own events', 'the other session']);
    await database.query('rollback');
    await webhooks.credits.receiveEvents({ events: [...events] });
    await until('both are dispatched', async () =>
      (await Promise.all(['org_shut', 'org_open'].map(armedOf))).every(({ length }) => length === 1),
    );
  } finally {
    await Promise.all([database.end(), beside.end()]);
  }
});
