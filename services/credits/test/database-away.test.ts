import { type OwnPostgres, ownPostgres } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { faultsOf } from './books.ts';
import { type Booted, boot, tenantOf } from './booted.ts';
import { silentProxy } from './silent-proxy.ts';

const tenant = tenantOf('org_a');
const deadlineMs = Date.now() + 300_000;
let postgres: OwnPostgres;
let credits: Booted;

beforeAll(async () => {
  postgres = await ownPostgres();
  credits = await boot({ databaseUrl: postgres.url });
  await credits.operator.grant({ tenant, grantId: 'g', amount: 1_000 });
}, 60_000);

afterAll(async () => {
  await credits.stop();
  await postgres.remove();
}, 60_000);

async function hold({ agents }: Booted, holdId: string): Promise<string | number | undefined> {
  const { results } = await agents.hold({ items: [{ tenant, holdId, userId: 'usr_1', amount: 4, deadlineMs }] });
  return results[0]?.refusal?.code ?? results[0]?.held;
}

/** Many callers at once, and how long the slowest waited. */
async function holdMany(service: Booted, prefix: string): Promise<{ outcomes: Set<string | number | undefined>; ms: number }> {
  const begin = performance.now();
  const outcomes = await Promise.all(Array.from({ length: 50 }, (_, index) => hold(service, `${prefix}_${index}`)));
  return { outcomes: new Set(outcomes), ms: performance.now() - begin };
}

test('while the database is gone every hold is refused within a second, and granted again once it is back', async () => {
  expect(await hold(credits, 'msg_before')).toBe(4);
  await postgres.stop();
  const { outcomes, ms } = await holdMany(credits, 'gone');
  expect(outcomes).toEqual(new Set(['unavailable']));
  expect(ms).toBeLessThan(1_000);
  await postgres.start();
  expect(await hold(credits, 'msg_after')).toBe(4);
  expect(await hold(credits, 'msg_before')).toBe(4);
  expect(await faultsOf(credits)).toEqual([]);
}, 30_000);

test('while the database does not answer every hold is refused within a second, and a repeat tells what became of it', async () => {
  const proxy = await silentProxy(postgres.url);
  const behind = await boot({ databaseUrl: proxy.url });
  try {
    expect(await hold(behind, 'msg_warm')).toBe(4);
    proxy.silence();
    const { outcomes, ms } = await holdMany(behind, 'silent');
    expect(outcomes).toEqual(new Set(['unavailable']));
    expect(ms).toBeLessThan(1_000);
    proxy.speak();
    const repeated = await holdMany(credits, 'silent');
    expect(repeated.outcomes).toEqual(new Set([4]));
    expect(await faultsOf(credits)).toEqual([]);
  } finally {
    await behind.stop();
    await proxy.close();
  }
}, 30_000);
