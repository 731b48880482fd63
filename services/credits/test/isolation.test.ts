import type { Principal } from '@agent-service/contracts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { dayMs } from '../src/domain/calendar.ts';
import { asCaller, type BootedService, boot } from './boot.ts';
import { faultsOf } from './verification.ts';

let now = Date.UTC(2026, 0, 15);
let credits: BootedService;
beforeAll(async () => {
  credits = await boot({ now: () => now });
});
afterAll(() => credits.stop());

// The rows of a tenant are found by both parts of its key: each tenant shares one part with another.
const tenants = [
  { organizationId: 'org_first', environment: 'live', amount: 1 },
  { organizationId: 'org_first', environment: 'test', amount: 2 },
  { organizationId: 'org_second', environment: 'live', amount: 3 },
  { organizationId: 'org_second', environment: 'test', amount: 4 },
] as const;

/** Does the same in each tenant, one after the other, and returns the results. */
async function inEach<T>(work: (tenant: (typeof tenants)[number]) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (const tenant of tenants) results.push(await work(tenant));
  return results;
}

const keyOf = ({ organizationId, environment }: (typeof tenants)[number]) => ({ organizationId, environment });

test('tenants that use the same ids of grants, users and holds share none of them', async () => {
  await inEach((tenant) => credits.operator.grant({ tenant: keyOf(tenant), grantId: 'g', amount: 1_000 + tenant.amount }));
  await inEach((tenant) =>
    asCaller(keyOf(tenant), () =>
      credits.gateway.setAllocation({ userId: 'usr_1', monthlyLimit: 100 * tenant.amount, rolloverEnabled: false }),
    ),
  );
  const holds = await inEach((tenant) =>
    credits.agents.hold({
      items: [{ tenant: keyOf(tenant), holdId: 'msg_1', userId: 'usr_1', amount: 10 * tenant.amount, deadlineMs: now + 300_000 }],
    }),
  );
  expect(holds.map(({ results }) => results[0]?.held)).toEqual([10, 20, 30, 40]);
  const users = await inEach((tenant) => asCaller(keyOf(tenant), () => credits.gateway.getUserBalance({ userId: 'usr_1' })));
  expect(users.map(({ balance }) => balance?.balance)).toEqual(['90', '180', '270', '360']);
  const released = await inEach((tenant) => credits.agents.release({ items: [{ tenant: keyOf(tenant), holdId: 'msg_1' }] }));
  expect(released.map(({ results }) => results[0]?.released)).toEqual([10, 20, 30, 40]);
  const balances = await inEach((tenant) => asCaller(keyOf(tenant), () => credits.gateway.getBalance({})));
  expect(balances.map(({ balance }) => balance?.unallocated)).toEqual(['901', '100802', '703', '100604']);
  expect(await faultsOf(credits)).toEqual([]);
});

test('tenants with the same users, agents and tiers count their usage apart, also where another has used them on an earlier day', async () => {
  const settlements = await inEach(async (tenant) => {
    now += dayMs;
    const hold = { tenant: keyOf(tenant), holdId: 'msg_2', userId: 'usr_1', amount: 5, deadlineMs: now + 300_000 };
    await credits.agents.hold({ items: [hold] });
    const usage = { agentId: 'agt_1', agentName: 'Sales', conversationId: 'conv_1', tier: 'Fast', inputTokens: 1, outputTokens: 1 };
    return await credits.agents.settle({
      items: [{ tenant: keyOf(tenant), holdId: 'msg_2', amount: tenant.amount, ...usage, querySummary: 'How much?' }],
    });
  });
  expect(settlements.map(({ results }) => results[0]?.charged)).toEqual([1, 2, 3, 4]);
  expect(await faultsOf(credits)).toEqual([]);
});

test('the beginning of a message is shown to its own user, to the administrator flag and to an application without a role', async () => {
  const tenant = { organizationId: 'org_private', environment: 'live' } as const;
  const userIds = ['usr_ann', 'usr_bob'];
  await credits.operator.grant({ tenant, grantId: 'g', amount: 1_000 });
  const items = userIds.map((userId) => ({ tenant, holdId: `msg_${userId}`, userId, amount: 5, deadlineMs: now + 300_000 }));
  await credits.agents.hold({ items });
  const usage = { agentId: 'agt_1', agentName: 'Sales', conversationId: 'conv_1', tier: 'Fast', amount: 1 };
  await credits.agents.settle({ items: items.map((item) => ({ ...item, ...usage, querySummary: `Asked by ${item.userId}` })) });
  const summariesFor = async (caller: Partial<Principal>) => {
    const { records } = await asCaller({ ...tenant, userId: 'usr_bob', ...caller }, () => credits.gateway.listUsage({}));
    return records.map(({ userId, querySummary }) => [userId, querySummary]).sort();
  };
  const all = userIds.map((userId) => [userId, `Asked by ${userId}`]);
  const own = [
    ['usr_ann', ''],
    ['usr_bob', 'Asked by usr_bob'],
  ];
  expect(await summariesFor({ role: 'admin', admin: true })).toEqual(all);
  expect(await summariesFor({ role: '', admin: false })).toEqual(all);
  expect(await summariesFor({ role: 'admin', admin: false })).toEqual(own);
  expect(await summariesFor({ role: 'member', admin: false })).toEqual(own);
});
