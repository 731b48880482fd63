import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { asCaller, type BootedService, boot, tenantOf } from './boot.ts';
import { faultsOf, query } from './verification.ts';

let credits: BootedService;
beforeAll(async () => {
  credits = await boot();
});
afterAll(() => credits.stop());

const deadlineMs = Date.now() + 300_000;
const holdItem = (organizationId: string, holdId: string, amount = 4, userId = 'usr_1') => ({
  tenant: tenantOf(organizationId),
  holdId,
  userId,
  amount,
  deadlineMs,
});
const settleItem = (organizationId: string, holdId: string, amount = 3) => ({
  tenant: tenantOf(organizationId),
  holdId,
  amount,
  agentId: 'agt_1',
  agentName: 'Sales',
  conversationId: 'conv_1',
  tier: 'Fast',
  inputTokens: 100,
  outputTokens: 50,
  querySummary: 'How much?',
});
const grant = (organizationId: string, amount: number, grantId = 'g1', environment: 'live' | 'test' = 'live') =>
  credits.operator.grant({ tenant: tenantOf(organizationId, environment), grantId, amount });

describe('the write path', () => {
  test('a hold, a settlement and a release move credits', async () => {
    await grant('org_path', 1_000);
    const holds = await credits.agents.hold({ items: [holdItem('org_path', 'msg_1'), holdItem('org_path', 'msg_2')] });
    expect(holds.results.map((result) => result.held)).toEqual([4, 4]);
    const settlements = await credits.agents.settle({ items: [settleItem('org_path', 'msg_1')] });
    expect(settlements.results[0]?.charged).toBe(3);
    const releases = await credits.agents.release({ items: [{ tenant: tenantOf('org_path'), holdId: 'msg_2' }] });
    expect(releases.results[0]?.released).toBe(4);
    const { balance } = await asCaller({ organizationId: 'org_path' }, () => credits.gateway.getBalance({}));
    expect(balance).toMatchObject({ organizationId: 'org_path', balance: '997', allocated: '497', unallocated: '500' });
    expect(await faultsOf(credits)).toEqual([]);
  });

  test('a repeat gets the first result, and one with other contents is refused', async () => {
    await grant('org_repeat', 100);
    const once = () => credits.agents.hold({ items: [holdItem('org_repeat', 'msg_1')] });
    await once();
    expect((await once()).results[0]?.held).toBe(4);
    const other = await credits.agents.hold({ items: [holdItem('org_repeat', 'msg_1', 5)] });
    expect(other.results[0]?.refusal?.code).toBe('idempotency_conflict');
    await credits.agents.settle({ items: [settleItem('org_repeat', 'msg_1')] });
    const again = await credits.agents.settle({ items: [settleItem('org_repeat', 'msg_1')] });
    expect(again.results[0]?.charged).toBe(3);
    const [row] = await query<{ records: string }>(
      credits.url,
      "select count(*) as records from usage_records where organization_id = 'org_repeat'",
    );
    expect(Number(row?.records)).toBe(1);
  });

  test('the items of one call, of many tenants, are decided each by itself', async () => {
    await grant('org_rich', 100);
    const { results } = await credits.agents.hold({
      items: [
        holdItem('org_poor', 'msg_1'),
        holdItem('org_rich', 'msg_1'),
        holdItem('', 'msg_1'),
        { ...holdItem('org_rich', 'm\0'), userId: 'u' },
      ],
    });
    expect(results.map((result) => result.refusal?.code ?? result.held)).toEqual([
      'credits_exhausted',
      4,
      'invalid_request',
      'invalid_request',
    ]);
    expect(results[0]?.refusal?.shortage).toEqual({ required: '4', available: '0' });
  });
});
