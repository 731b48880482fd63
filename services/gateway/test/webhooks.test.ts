import { testRedis } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { exampleOf } from '../src/openapi/document.ts';
import { webhookRoutes } from '../src/routes/index.ts';
import { expectError } from './support/envelope.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { ask } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

const token = apiKey('w');

let peer: Peer;
let gateway: Gateway;
let without: Gateway;
beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [token]: caller('w') });
  const { url } = await testRedis();
  gateway = await startGateway(peer, url, { RATE_LIMIT_WRITES_PER_MINUTE: '1000' });
  without = await startGateway(peer, url, { WEBHOOKS_ENABLED: 'false', WEBHOOKS_ADDRESS: '' });
});
afterAll(async () => {
  await gateway.stop();
  await without.stop();
  await peer.stop();
});

const call = (method: string, path: string, json?: unknown) =>
  ask(gateway.url, path, { method, token, ...(json !== undefined && { json }) });

const at = '2026-01-31T10:00:00.000Z';
const required = { url: 'https://hooks.example.com/x', events: ['agent.created'] };
const webhookBody = {
  id: 'whk_1',
  url: 'https://hooks.example.com/agent-service',
  events: ['credits.depleted'],
  description: 'Tells our chat.',
  active: true,
  status: 'failing',
  failing_since: at,
  last_delivery_at: null,
  created_at: at,
  updated_at: at,
};

describe('a webhook', () => {
  test('is created with the documented fields, and returns its secret', async () => {
    const { status, body } = await call('POST', '/v1/webhooks', required);
    expect(status).toBe(201);
    expect(body).toEqual({
      data: { id: 'whk_1', ...required, secret: expect.stringMatching(/^whsec_/), active: true, created_at: at },
    });
    const own = await call('POST', '/v1/webhooks', { ...required, secret: 'sixteen letters!', active: false, description: 'Mine.' });
    expect(own.body.data).toMatchObject({ secret: 'sixteen letters!', active: false });
  });

  test('is listed and changed without its secret', async () => {
    const listed = await call('GET', '/v1/webhooks');
    expect([listed.status, listed.body.data, listed.body.meta]).toEqual([200, [webhookBody], expect.objectContaining({ total: 1 })]);
    const changed = await call('PATCH', '/v1/webhooks/whk_1', { active: false, description: null });
    expect([changed.status, changed.body]).toEqual([200, { data: { ...webhookBody, active: false, description: '' } }]);
    expect(`${listed.text}${changed.text}`).not.toContain('whsec_');
  });

  test('is deleted, gets a new secret, and is tested', async () => {
    expect(await call('DELETE', '/v1/webhooks/whk_1')).toMatchObject({ status: 204, text: '' });
    for (const body of [{}, undefined])
      expect((await call('POST', '/v1/webhooks/whk_1/rotate-secret', body)).body).toEqual({
        data: { id: 'whk_1', secret: expect.stringMatching(/^whsec_/), previous_secret_until: at },
      });
    expect((await call('POST', '/v1/webhooks/whk_1/test')).body.data).toMatchObject({ event_type: 'webhook.test', status: 'pending' });
  });

  test('lists its deliveries and repeats one', async () => {
    const { body } = await call('GET', '/v1/webhooks/whk_1/deliveries');
    expect(body.data).toEqual([
      {
        id: 'dlv_1',
        event_id: 'evt_1',
        event_type: 'credits.depleted',
        status: 'pending',
        attempts: [
          { at, status: null, error: 'timeout', duration_ms: 15_000 },
          { at, status: 503, error: null, duration_ms: 84 },
        ],
        response_status: 503,
        response_body: 'not now',
        next_attempt_at: at,
        created_at: at,
        ended_at: null,
        redelivery_of: null,
      },
    ]);
    expect((await call('POST', '/v1/webhooks/whk_1/deliveries/dlv_1/redeliver')).body.data.redelivery_of).toBe('dlv_1');
  });
});

describe('is refused', () => {
  test.each([
    ['url', { url: undefined }],
    ['url', { url: '' }],
    ['url', { url: 7 }],
    ['url', { url: `https://hooks.example.com/${'x'.repeat(2_048)}` }],
    ['events', { events: [] }],
    ['events', { events: 'agent.created' }],
    ['events[0]', { events: ['agent.exploded'] }],
    ['events[1]', { events: ['agent.created', 'webhook.test'] }],
    ['secret', { secret: 'x'.repeat(15) }],
    ['secret', { secret: 'x'.repeat(256) }],
    ['secret', { secret: null }],
    ['description', { description: 'x'.repeat(2_001) }],
    ['active', { active: 'yes' }],
    ['status', { status: 'healthy' }],
  ])('on creation for its %s: %j', async (param, fault) => {
    const answer = await call('POST', '/v1/webhooks', { ...required, ...fault });
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe(param);
  });

  test.each([
    ['secret', { secret: 'sixteen letters!' }],
    ['url', { url: null }],
    ['events', { events: null }],
    ['active', { active: null }],
  ])('on change for its %s: %j', async (param, fault) => {
    const answer = await call('PATCH', '/v1/webhooks/whk_1', fault);
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe(param);
  });
});

describe.each(webhookRoutes.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_title, route) => {
  test('is an unknown path and not in the document where webhooks are off', async () => {
    const path = route.path.replace('{webhook_id}', 'whk_1').replace('{delivery_id}', 'dlv_1');
    const request = { method: route.method, ...(route.body && { json: exampleOf(route.body) }) };
    for (const credential of [{ token }, {}]) {
      const answer = await ask(without.url, path, { ...request, ...credential, isUndescribed: true });
      expectError(answer, 404, 'not_found');
      expect(answer.body.error.message).toBe(`There is no path ${path.split('?')[0]}. All paths are listed at /docs.`);
    }
    expect((await ask(without.url, '/openapi.json')).body.paths[route.path]).toBeUndefined();
    expect((await ask(gateway.url, '/openapi.json')).body.paths[route.path]).toBeDefined();
  });
});

test('a gateway with webhooks requires the address of the webhooks service', async () => {
  await expect(startGateway(peer, (await testRedis()).url, { WEBHOOKS_ADDRESS: '' })).rejects.toThrow('WEBHOOKS_ADDRESS');
});
