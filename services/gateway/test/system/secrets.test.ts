import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { dump, untilOutboxesAreEmpty } from './database.ts';
import { startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ LOG_LEVEL: 'trace' });
});
afterAll(() => world.stop());

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };

/** Uses every credential in every way, wrong ways included, and answers with all that must never be found in clear. */
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

test('no key, secret or token stands in clear in the database or in the logs', async () => {
  const secrets = await useEverySecret();
  const postgres = world.system.endpoints['postgres'] ?? '';
  await untilOutboxesAreEmpty(postgres);
  const rows = [...(await dump(postgres))].flatMap(([table, lines]) => lines.map((line) => `${table}: ${line}`));
  const own = Object.values(world.system.secrets);
  expect(rows.length).toBeGreaterThan(20);
  for (const secret of [...secrets, ...own]) expect(rows.filter((row) => row.includes(secret))).toEqual([]);

  const folder = join(world.system.dataDir, 'logs');
  // The gateways stop first, so that what they have yet to write is written.
  await world.stop();
  const logs = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  expect(logs.join('').split('\n').length).toBeGreaterThan(50);
  for (const secret of [...secrets, ...own]) expect(logs.filter((log) => log.includes(secret))).toEqual([]);
});
