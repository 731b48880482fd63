import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue } from '@agent-service/local/system/catalogue';
import { type SpanCollector, spanCollector } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { dump, untilOutboxesAreEmpty } from './database.ts';
import { startWorld, type World } from './world.ts';

let collector: SpanCollector;
let world: World;
beforeAll(async () => {
  collector = await spanCollector();
  world = await startWorld({ LOG_LEVEL: 'trace', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, { catalogue });
});
afterAll(async () => {
  await world?.stop();
  await collector?.stop();
});

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };

/** Uses every credential in every valid and invalid way, and returns all texts that must not be stored in clear. */
async function useEverySecret(): Promise<string[]> {
  const { keys, id } = world.ours;
  const application = await world.operator.createOauthClient({ organizationId: id, environment: 'live' });
  const issued = await world.call(undefined, {
    method: 'POST',
    path: '/v1/auth/token',
    headers: json,
    body: JSON.stringify({ api_key: keys.live }),
  });
  const granted = await world.call(undefined, {
    method: 'POST',
    path: '/v1/auth/oauth/token',
    headers: form,
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: application.clientId,
      client_secret: application.clientSecret,
    }).toString(),
  });
  const tokens = [
    issued.json<{ data: { access_token: string } }>().data.access_token,
    granted.json<{ access_token: string }>().access_token,
  ];
  const basic = `Basic ${Buffer.from(`${application.clientId}:${application.clientSecret}`).toString('base64')}`;
  const secrets = [keys.live, keys.test, application.clientSecret, basic.slice(6), ...tokens];
  for (const secret of secrets) {
    await world.call(secret, { method: 'GET', path: '/v1/users' });
    await world.call(secret, { method: 'GET', path: `/v1/users?secret=${encodeURIComponent(secret)}` });
    await world.call(keys.live, { method: 'GET', path: `/v1/users/${encodeURIComponent(secret)}` });
    await world.call(keys.live, { method: 'POST', path: '/v1/users', headers: json, body: JSON.stringify({ [secret]: secret }) });
    await world.call(undefined, {
      method: 'POST',
      path: '/v1/auth/token',
      headers: json,
      body: JSON.stringify({ api_key: secret, extra: secret }),
    });
    await world.call(undefined, {
      method: 'POST',
      path: '/v1/auth/oauth/token',
      headers: { ...form, authorization: basic },
      body: `grant_type=${secret}`,
    });
    await world.call(undefined, {
      method: 'POST',
      path: '/v1/auth/oauth/token',
      headers: form,
      body: `grant_type=client_credentials&client_id=x&client_secret=${secret}`,
    });
  }
  return secrets;
}

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentSpanId = 'b7ad6b7169203331';

test('no key, secret or token is in clear in the database, in the logs or in a trace', async () => {
  await world.call(world.ours.keys.live, {
    method: 'GET',
    path: '/v1/users',
    headers: { traceparent: `00-${traceId}-${parentSpanId}-01` },
  });
  const secrets = await useEverySecret();
  const postgres = world.system.endpoints['postgres'] ?? '';
  await untilOutboxesAreEmpty(postgres);
  const rows = [...(await dump(postgres))].flatMap(([table, lines]) => lines.map((line) => `${table}: ${line}`));
  const own = Object.values(world.system.secrets);
  expect(rows.length).toBeGreaterThan(20);
  for (const secret of [...secrets, ...own]) expect(rows.filter((row) => row.includes(secret))).toEqual([]);

  const folder = join(world.system.dataDir, 'logs');
  // A process that stops writes its last lines and exports its remaining spans.
  await world.stop();
  const logs = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  expect(logs.join('').split('\n').length).toBeGreaterThan(50);
  for (const secret of [...secrets, ...own]) expect(logs.filter((log) => log.includes(secret))).toEqual([]);
  expect(collector.spans.length).toBeGreaterThan(50);
  const spans = collector.spans.map((span) => JSON.stringify(span));
  for (const secret of [...secrets, ...own]) expect(spans.filter((span) => span.includes(secret))).toEqual([]);
});

test('a caller’s trace continues through the gateway and over gRPC into identity', () => {
  const spans = collector.spans.filter((span) => span.traceId === traceId);
  const served = spans.find((span) => span.service === 'gateway' && span.parentSpanId === parentSpanId);
  const called = spans.find((span) => span.service === 'gateway' && span.name.endsWith('/ListUsers'));
  const answered = spans.find((span) => span.service === 'identity' && span.name.endsWith('.IdentityService/ListUsers'));
  expect(served).toBeDefined();
  expect(called?.parentSpanId).toBe(served?.spanId);
  expect(answered?.parentSpanId).toBe(called?.spanId);
});
