import { type OwnPostgres, ownPostgres, silentProxy } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type BootedService, boot, type Clients, tenantOf } from './boot.ts';
import { creditsProcess } from './processes.ts';
import { faultsOf } from './verification.ts';

const tenant = tenantOf('org_a');
const deadlineMs = Date.now() + 300_000;
let postgres: OwnPostgres;
let credits: BootedService;

beforeAll(async () => {
  postgres = await ownPostgres();
  credits = await boot({ databaseUrl: postgres.url });
  await credits.operator.grant({ tenant, grantId: 'g', amount: 1_000 });
});

afterAll(async () => {
  await credits.stop();
  await postgres.remove();
});

/** Longer than the time limit of the service, so that a refusal is the service's own and not a timeout of the client. */
const longTimeout = { timeoutMs: 20_000 };

async function hold({ agents }: Clients, holdId: string): Promise<string | number | undefined> {
  const { results } = await agents.hold({ items: [{ tenant, holdId, userId: 'usr_1', amount: 4, deadlineMs }] }, longTimeout);
  return results[0]?.refusal?.code ?? results[0]?.held;
}

/** The outcomes of many callers at once. */
async function holdMany(service: BootedService, prefix: string): Promise<Set<string | number | undefined>> {
  return new Set(await Promise.all(Array.from({ length: 50 }, (_, index) => hold(service, `${prefix}_${index}`))));
}

test('while the database is stopped every hold is refused, and afterwards holds are granted again', async () => {
  expect(await hold(credits, 'msg_before')).toBe(4);
  await postgres.stop();
  expect(await holdMany(credits, 'away')).toEqual(new Set(['unavailable']));
  await postgres.start();
  expect(await hold(credits, 'msg_after')).toBe(4);
  expect(await hold(credits, 'msg_before')).toBe(4);
  expect(await faultsOf(credits)).toEqual([]);
});

test('a process that starts while the database is stopped is alive and unready, and ready when the database is back', async () => {
  await postgres.stop();
  const replica = await creditsProcess(postgres.url);
  try {
    await replica.start('alive');
    await replica.untilFaults(['process']);
    await postgres.start();
    await replica.untilFaults([]);
    expect(await hold(replica, 'msg_replica')).toBe(4);
  } finally {
    await replica.stop();
  }
});

test('while the database does not respond every hold is refused, and a repeated hold is granted', async () => {
  const proxy = await silentProxy(postgres.url);
  const behind = await boot({ databaseUrl: proxy.url });
  try {
    // On a busy machine the first one may take longer than the service waits for its database: its caller repeats it.
    let warm = await hold(behind, 'msg_warm');
    while (warm === 'unavailable') warm = await hold(behind, 'msg_warm');
    expect(warm).toBe(4);
    proxy.silence();
    expect(await holdMany(behind, 'silent')).toEqual(new Set(['unavailable']));
    proxy.speak();
    expect(await holdMany(credits, 'silent')).toEqual(new Set([4]));
    expect(await faultsOf(credits)).toEqual([]);
  } finally {
    await behind.stop();
    await proxy.close();
  }
});
