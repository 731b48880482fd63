import { createCipher } from '@agent-service/store';
import { type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { secretContext } from '../src/store/sealed-columns.ts';
import { type BootedService, boot, query } from './boot.ts';
import { asCaller } from './clients.ts';

const key = (version: number) => `${version}:${Buffer.alloc(32, version).toString('base64')}`;
const organizationId = 'org_mine';
const as = <T>(work: () => T, scope?: string) => asCaller({ organizationId }, work, scope ? { scope, fingerprint: 'f' } : undefined);

let own: TestDatabase;
let webhooks: BootedService | undefined;

beforeEach(async () => {
  own = await testDatabase();
});

afterEach(async () => {
  await stop();
  await own.drop();
});

async function stop(): Promise<void> {
  await webhooks?.stop();
  webhooks = undefined;
}

/** The service on the same database with these keys; only the test begins its deliveries. */
async function startWith(...versions: number[]): Promise<BootedService> {
  await stop();
  webhooks = await boot({
    settings: {
      DATABASE_URL: own.url,
      ENCRYPTION_KEYS: versions.map(key).join(','),
      ENCRYPTION_KEY_AHEAD_SECONDS: '0',
      WEBHOOK_ALLOWED_NETWORKS: '',
    },
  });
  return webhooks;
}

interface StoredSecrets {
  id: string;
  secret: string;
  previous_secret: string | null;
  updated_at: Date;
}

const stored = () => query<StoredSecrets>(own.url, 'select id, secret, previous_secret, updated_at from endpoints order by id');
const create = (service: BootedService, scope?: string) =>
  as(() => service.gateway.createEndpoint({ url: 'https://hooks.example.com/in', events: ['agent.created'], active: true }), scope);

/** Sends an event to all webhooks, and begins each delivery as a dispatcher does, all in one call. */
async function begin(service: BootedService) {
  const event = {
    id: `evt_${Date.now()}`,
    type: 'agent.created',
    organizationId,
    environment: 'live',
    createdAt: new Date().toISOString(),
    dataJson: '{}',
  };
  await service.credits.receiveEvents({ events: [event] });
  const armed = () =>
    query<{ id: string; endpoint_id: string; dispatch: number }>(
      own.url,
      `select id, endpoint_id, dispatch from deliveries where event_id = $1 and state = 'armed' order by endpoint_id`,
      [event.id],
    );
  const { length } = await stored();
  await until('its deliveries are armed', async () => (await armed()).length === length);
  const deliveries = await armed();
  const items = deliveries.map(({ id, dispatch }) => ({ delivery: { organizationId, environment: 'live', deliveryId: id }, dispatch }));
  const { results } = await service.dispatcher.beginDelivery({ items });
  return new Map(results.map(({ begun }, index) => [deliveries[index]?.endpoint_id, begun?.secrets]));
}

test('secrets, previous ones as well, are sealed again under a rotated key and then sign without the old one', async () => {
  const before = await startWith(1);
  const { endpoint, secret: previous } = await create(before);
  const id = endpoint?.id ?? '';
  const { secret } = await as(() => before.gateway.rotateSecret({ endpointId: id }));
  const { endpoint: removed } = await create(before);
  await as(() => before.gateway.deleteEndpoint({ endpointId: removed?.id ?? '' }));
  const [first] = await stored();
  await startWith(1, 2);
  const versions = async () =>
    (await stored())
      .filter(({ secret: sealed }) => sealed !== '')
      .flatMap((row) => [row.secret.slice(0, 2), row.previous_secret?.slice(0, 2)]);
  await until('both are sealed again', async () => (await versions()).every((version) => version === '2:'));
  expect((await stored())[0]?.updated_at).toEqual(first?.updated_at);
  await query(own.url, 'delete from endpoints where id = $1', [removed?.id]);
  const after = await startWith(2);
  expect((await begin(after)).get(id)).toEqual([secret, previous]);
});

test('stored answers of repeated requests are not sealed again: they open until they expire', async () => {
  const before = await startWith(1);
  const created = await create(before, 'again');
  const both = await startWith(1, 2);
  await until('the endpoint is sealed again', async () => (await stored()).every(({ secret }) => secret.startsWith('2:')));
  expect(await create(both, 'again')).toEqual(created);
});

test('a secret whose key is removed stops its own webhook only, and no delivery of it is lost', async () => {
  const before = await startWith(2);
  const [well, lost, alone] = [await create(before), await create(before), await create(before)].map(({ endpoint, secret }) => ({
    id: endpoint?.id ?? '',
    secret,
  }));
  if (!well || !lost || !alone) throw new Error('three endpoints were created');
  const orphan = (id: string) =>
    createCipher(new Map([[9, Buffer.alloc(32, 9)]])).encrypt('a secret', secretContext({ organizationId, environment: 'live' }, id));
  await query(own.url, 'update endpoints set secret = $2 where id = $1', [lost.id, orphan(lost.id)]);
  await query(own.url, `update endpoints set previous_secret = $2, previous_secret_until = now() + interval '1 day' where id = $1`, [
    alone.id,
    orphan(alone.id),
  ]);
  const after = await startWith(2, 3);
  await until('the others are sealed again', async () => (await stored()).filter(({ secret }) => secret.startsWith('3:')).length === 2);
  const attempts = await begin(after);
  expect(attempts.get(well.id)).toEqual([well.secret]);
  expect(attempts.get(alone.id)).toEqual([alone.secret]);
  expect(attempts.get(lost.id)).toBeUndefined();
  expect(await query(own.url, 'select state from deliveries where endpoint_id = $1', [lost.id])).toEqual([{ state: 'armed' }]);
  // A new secret is the way out, as is the key: what waits is then sent.
  const { secret } = await as(() => after.gateway.rotateSecret({ endpointId: lost.id }));
  expect((await begin(after)).get(lost.id)).toEqual([secret]);
});

test('a previous secret is removed once it signs no more, also where it does not open', async () => {
  const before = await startWith(1);
  const { endpoint } = await create(before);
  await startWith(2);
  await as(() => (webhooks as BootedService).gateway.rotateSecret({ endpointId: endpoint?.id ?? '' }));
  await startWith(2);
  expect((await stored())[0]?.previous_secret).toMatch(/^1:/);
  await query(own.url, `update endpoints set previous_secret_until = now() - interval '1 second'`);
  await startWith(2);
  await until('it is removed', async () => (await stored())[0]?.previous_secret === null);
});
