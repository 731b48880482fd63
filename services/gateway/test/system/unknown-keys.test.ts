import { type ServiceProcess, serviceProcess, testDatabase, testRedis } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const secret = 'a-service-secret-that-is-long-enough';
const settings = {
  CURSOR_SECRET: 'a cursor secret that is long enough for tests',
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}`,
};

/** Stands for every service that is called: it knows none of the keys that the callers sign with. */
let called: ServiceProcess;
let caller: ServiceProcess | undefined;
beforeAll(async () => {
  called = await serviceProcess('templates', { ...settings, SERVICE_SECRET: secret, AGENTS_ADDRESS: '127.0.0.1:1' });
});
afterAll(async () => {
  await caller?.kill();
  await called.kill();
});

const reasonsOf = async ({ opsUrl }: ServiceProcess) =>
  JSON.stringify(((await (await fetch(`${opsUrl}/readyz`)).json()) as { faults: object }).faults);

test.each([
  ['agents', ['identity', 'credits']],
  ['credits', ['identity']],
  ['webhooks', ['identity']],
  ['templates', ['agents']],
])('%s is ready while what it calls is away, and unready with the reason while that refuses its key', async (service, callees) => {
  const [database, redis] = await Promise.all([testDatabase(), testRedis()]);
  caller = await serviceProcess(service, {
    ...settings,
    SERVICE_SECRET: 'another-secret-that-is-long-enough',
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    ...Object.fromEntries(callees.map((callee) => [`${callee.toUpperCase()}_ADDRESS`, called.address])),
  });
  await caller.start();
  await called.start();
  await caller.untilFaults(callees);
  expect(await reasonsOf(caller)).toContain('compare SERVICE_SECRET or SERVICE_KEYS of both');
  await caller.stop();
  await caller.start(callees);
  await called.stop();
  await caller.stop();
  await database.drop();
});
