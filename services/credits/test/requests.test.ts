import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { asCaller, type BootedService, boot, tenantOf } from './boot.ts';
import { faultsOf, query } from './verification.ts';

let credits: BootedService;
beforeAll(async () => {
  credits = await boot({ settings: { WEBHOOKS_ENABLED: 'true' } });
});
afterAll(async () => {
  expect(await faultsOf(credits)).toEqual([]);
  await credits.stop();
});

const grant = (organizationId: string, amount: number, grantId = 'g') =>
  credits.operator.grant({ tenant: tenantOf(organizationId), grantId, amount });
const balanceOf = async (organizationId: string, environment: 'live' | 'test' = 'live') =>
  (await asCaller({ organizationId, environment }, () => credits.gateway.getBalance({}))).balance;
const auditOf = (organizationId: string) =>
  query<{ action: string; changes: unknown }>(
    credits.url,
    `select payload ->> 'action' as action, (payload ->> 'changesJson')::json as changes from outbox
     where topic = 'audit' and payload ->> 'organizationId' = $1 order by id`,
    [organizationId],
  );
const actionsOf = async (organizationId: string) => (await auditOf(organizationId)).map(({ action }) => action);

describe('balances', () => {
  test('a new tenant has no credits in live and 100,000 in test', async () => {
    expect(await balanceOf('org_new')).toMatchObject({
      balance: '0',
      allocated: '0',
      unallocated: '0',
      autoReplenish: false,
      replenishThreshold: 100,
      replenishAmount: 1000,
      defaultMonthlyLimit: 500,
    });
    const many = await Promise.all(Array.from({ length: 10 }, () => balanceOf('org_new', 'test')));
    expect(new Set(many.map((balance) => balance?.balance))).toEqual(new Set(['100000']));
  });

  test('a user without an account has no credits, and the default limit', async () => {
    const { balance } = await asCaller({ organizationId: 'org_new' }, () => credits.gateway.getUserBalance({ userId: 'usr_new' }));
    expect(balance).toMatchObject({ userId: 'usr_new', balance: '0', monthlyLimit: 500, usedThisMonth: '0', rolloverEnabled: false });
    expect(await query(credits.url, "select 1 from user_accounts where user_id = 'usr_new'")).toEqual([]);
  });

  test('a read needs credits:read', async () => {
    await expect(asCaller({ scopes: ['credits:write'] }, () => credits.gateway.getBalance({}))).rejects.toMatchObject({
      code: 'insufficient_scope',
    });
    await expect(asCaller({}, () => credits.agents.getBalance({}))).rejects.toMatchObject({ code: 'service_forbidden' });
  });
});

test('a verification ends at a ledger that cannot be read, or names it and continues', async () => {
  for (const organizationId of ['org_1_unread', 'org_2_read']) await grant(organizationId, 100);
  const tenant = "'org_1_unread', 'live', 'Fast'";
  await query(
    credits.url,
    `insert into usage_by_tier (organization_id, environment, tier, day, credits, queries, credits_total, queries_total)
     values (${tenant}, '300000-01-01', 1, 1, 1, 1)`,
  );
  await query(credits.url, "update ledgers set spent = spent + 1, issued = issued + 1 where organization_id = 'org_2_read'");
  const verify = (cursor: string, skipFailing: boolean) => credits.operator.verifyLedger({ organizationId: '', cursor, skipFailing });
  await expect(verify('', false)).rejects.toMatchObject({ code: 'internal' });
  const parts = [await verify('', true)];
  for (let cursor = parts[0]?.nextCursor; cursor; cursor = parts.at(-1)?.nextCursor) parts.push(await verify(cursor, true));
  expect(parts.flatMap(({ unverified }) => unverified)).toEqual([{ tenant: tenantOf('org_1_unread'), code: 'internal' }]);
  expect(new Set(parts.flatMap(({ faults }) => faults.map(({ tenant }) => tenant?.organizationId)))).toEqual(new Set(['org_2_read']));
  await query(credits.url, "update ledgers set spent = spent - 1, issued = issued - 1 where organization_id = 'org_2_read'");
  await query(credits.url, "delete from usage_by_tier where day = '300000-01-01'");
});

describe('grants', () => {
  test('a grant is made once for its id, audited once, and refused under another amount', async () => {
    await grant('org_grant', 100);
    const { balance } = await grant('org_grant', 100);
    expect(balance).toMatchObject({ balance: '100' });
    await expect(grant('org_grant', 200)).rejects.toMatchObject({ code: 'idempotency_conflict' });
    expect(await actionsOf('org_grant')).toEqual(['credits.granted']);
  });

  test('an amount that is not valid changes nothing', async () => {
    for (const amount of [0, -5, 1_000_000_000_001, '9223372036854775807'])
      await expect(credits.operator.grant({ tenant: tenantOf('org_none'), grantId: `g${amount}`, amount })).rejects.toMatchObject({
        code: 'invalid_request',
        message: 'amount must be a whole number from 1 to 1000000000000.',
      });
    expect(await query(credits.url, "select 1 from ledgers where organization_id = 'org_none'")).toEqual([]);
  });

  test('only the operator grants', async () => {
    const item = { tenant: tenantOf('org_a'), grantId: 'g', amount: 1 };
    await expect(asCaller({}, () => credits.gateway.grant(item))).rejects.toMatchObject({ code: 'service_forbidden' });
  });
});

describe('allocations', () => {
  const allocate = (organizationId: string, monthlyLimit: number, idempotency?: { scope: string; fingerprint: string }) =>
    asCaller(
      { organizationId },
      () => credits.gateway.setAllocation({ userId: 'usr_1', monthlyLimit, rolloverEnabled: true }),
      idempotency,
    );

  test('credits move between pool and user, and each change is audited', async () => {
    await grant('org_alloc', 1_000);
    const { allocation } = await allocate('org_alloc', 300);
    expect(allocation).toMatchObject({ userId: 'usr_1', monthlyLimit: 300, rolloverEnabled: true });
    expect(await balanceOf('org_alloc')).toMatchObject({ allocated: '300', unallocated: '700' });
    await allocate('org_alloc', 100);
    expect(await balanceOf('org_alloc')).toMatchObject({ allocated: '100', unallocated: '900' });
    expect(await actionsOf('org_alloc')).toEqual(['credits.granted', 'credits.allocated', 'credits.allocated']);
  });

  test('an audit entry of an allocation lists what differs, and the same allocation again leaves none and no new time', async () => {
    await grant('org_same', 1_000);
    const first = await allocate('org_same', 300);
    const before = await balanceOf('org_same');
    expect(await allocate('org_same', 300)).toEqual(first);
    expect(await balanceOf('org_same')).toEqual(before);
    await allocate('org_same', 200);
    expect((await auditOf('org_same')).slice(1)).toEqual([
      { action: 'credits.allocated', changes: { monthly_limit: 300, rollover_enabled: true } },
      { action: 'credits.allocated', changes: { monthly_limit: 200 } },
    ]);
  });

  test('an allocation above the unallocated credits is refused with both figures, changes nothing and is not audited', async () => {
    await grant('org_short', 50);
    await expect(allocate('org_short', 60)).rejects.toMatchObject({
      code: 'insufficient_unallocated_credits',
      message:
        'This allocation needs 60 more credits, and 50 are unallocated: lower the allocations of other users, or ask the operator for credits.',
      details: { required: 60, available: 50 },
    });
    expect(await balanceOf('org_short')).toMatchObject({ allocated: '0', unallocated: '50' });
    expect(await actionsOf('org_short')).toEqual(['credits.granted']);
  });

  test('an Idempotency-Key has one effect; a refusal is not stored under the key', async () => {
    const key = { scope: 'org_key PUT /allocation 1', fingerprint: 'a' };
    await expect(allocate('org_key', 10, key)).rejects.toMatchObject({ code: 'insufficient_unallocated_credits' });
    await grant('org_key', 100);
    const first = await allocate('org_key', 10, key);
    await allocate('org_key', 20);
    expect(await allocate('org_key', 10, key)).toEqual(first);
    expect(await balanceOf('org_key')).toMatchObject({ allocated: '20' });
    await expect(allocate('org_key', 30, { ...key, fingerprint: 'b' })).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });
});

describe('settings and events', () => {
  test('only an administrator changes settings, and only the named ones change', async () => {
    const change = (admin: boolean) =>
      asCaller({ organizationId: 'org_set', admin }, () => credits.gateway.updateSettings({ replenishAmount: 5, lowBalanceThreshold: 7 }));
    await expect(change(false)).rejects.toMatchObject({ code: 'admin_required' });
    const { balance } = await change(true);
    expect(balance).toMatchObject({ replenishAmount: 5, lowBalanceThreshold: 7, replenishThreshold: 100, autoReplenish: false });
    const cleared = await asCaller({ organizationId: 'org_set' }, () => credits.gateway.updateSettings({ clearLowBalanceThreshold: true }));
    expect(cleared.balance?.lowBalanceThreshold).toBeUndefined();
    await expect(
      asCaller({ organizationId: 'org_set' }, () => credits.gateway.updateSettings({ replenishAmount: 0 })),
    ).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('changed settings are audited under the names that callers know', async () => {
    const settings = { autoReplenish: true, replenishThreshold: 1, replenishAmount: 2, lowBalanceThreshold: 3, defaultMonthlyLimit: 4 };
    const tenant = { organizationId: 'org_names' };
    await asCaller(tenant, () => credits.gateway.updateSettings(settings));
    await asCaller(tenant, () => credits.gateway.updateSettings({ clearLowBalanceThreshold: true }));
    expect((await auditOf('org_names')).map(({ changes }) => changes)).toEqual([
      { auto_replenish: true, replenish_threshold: 1, replenish_amount: 2, low_balance_threshold: 3, default_monthly_limit: 4 },
      { low_balance_threshold: null },
    ]);
  });

  test('an audit entry of settings lists what differs, and settings that change nothing leave none and no new time', async () => {
    const update = (settings: object) => asCaller({ organizationId: 'org_unchanged' }, () => credits.gateway.updateSettings(settings));
    const first = await update({ replenishThreshold: 5, defaultMonthlyLimit: 500 });
    expect(await update({ replenishThreshold: 5, clearLowBalanceThreshold: true })).toEqual(first);
    expect(await update({})).toEqual(first);
    expect(await auditOf('org_unchanged')).toEqual([{ action: 'credits.settings_updated', changes: { replenish_threshold: 5 } }]);
  });

  test('each event is written once, in the transaction that causes it', async () => {
    await grant('org_events', 20);
    const spend = async (holdId: string, amount: number) => {
      const tenant = tenantOf('org_events');
      await credits.agents.hold({ items: [{ tenant, holdId, userId: 'usr_1', amount, deadlineMs: Date.now() }] });
      const item = { tenant, holdId, amount, agentId: 'agt_1', agentName: 'Sales', conversationId: 'c', tier: 'Fast' };
      await credits.agents.settle({ items: [item, item] });
    };
    for (const [index, amount] of [18, 1, 1].entries()) await spend(`msg_${index}`, amount);
    await grant('org_events', 30, 'g2');
    const events = await query<{ payload: { type: string; data: Record<string, unknown> } }>(
      credits.url,
      "select payload from outbox where topic = 'events' and payload ->> 'organizationId' = 'org_events' order by id",
    );
    expect(events.map(({ payload: { type, data } }) => [type, data])).toEqual([
      ['credits.replenished', { organization_id: 'org_events', amount: 20, balance: 20, source: 'purchase' }],
      ['credits.low_balance', { organization_id: 'org_events', balance: 1, threshold: 2 }],
      ['credits.depleted', { organization_id: 'org_events', balance: 0, depleted_at: expect.any(String) }],
      ['credits.replenished', { organization_id: 'org_events', amount: 30, balance: 30, source: 'purchase' }],
    ]);
  });
});

describe('overdue holds', () => {
  test('only holds past deadline and grace time are listed, oldest first, page by page', async () => {
    await grant('org_late', 100);
    const overdueItem = (holdId: string, agoMs: number) => ({
      tenant: tenantOf('org_late'),
      holdId,
      userId: 'usr_1',
      amount: 1,
      deadlineMs: Date.now() - agoMs,
    });
    await credits.agents.hold({
      items: [overdueItem('m1', 70_000), overdueItem('m2', 50_000), overdueItem('m3', 80_000), overdueItem('m4', 70_500)],
    });
    const first = await credits.agents.listOverdueHolds({ page: { limit: 2 } });
    const second = await credits.agents.listOverdueHolds({ page: { limit: 2, cursor: first.nextCursor } });
    expect([...first.holds, ...second.holds].map(({ holdId }) => holdId)).toEqual(['m3', 'm4', 'm1']);
    expect(second.nextCursor).toBe('');
    await credits.agents.release({ items: first.holds.map(({ tenant, holdId }) => ({ tenant, holdId })) });
    expect((await credits.agents.listOverdueHolds({})).holds.map(({ holdId }) => holdId)).toEqual(['m1']);
  });
});

test('usage reads of one organization leave connections to the holds of another', async () => {
  await grant('org_fast', 100);
  const database = new Client({ connectionString: credits.url, options: '-c search_path=credits' });
  await database.connect();
  try {
    await database.query('begin; lock table usage_by_tier in access exclusive mode');
    const read = () => asCaller({ organizationId: 'org_slow' }, () => credits.gateway.aggregateUsage({ groupBy: 'month' }));
    // Several times as many as the service has connections.
    const waiting = Promise.allSettled(Array.from({ length: 60 }, read));
    const item = { tenant: tenantOf('org_fast'), holdId: 'msg_1', userId: 'usr_1', amount: 1, deadlineMs: Date.now() + 60_000 };
    expect((await credits.agents.hold({ items: [item] })).results).toMatchObject([{ held: 1 }]);
    await database.query('rollback');
    expect((await waiting).map(({ status }) => status)).toContain('fulfilled');
  } finally {
    await database.end();
  }
});

test('changes that wait for the locked ledger of one organization leave connections to another', async () => {
  await grant('org_held', 1_000);
  await grant('org_spared', 1_000);
  const database = new Client({ connectionString: credits.url, options: '-c search_path=credits' });
  await database.connect();
  try {
    await database.query('begin');
    await database.query(`select 1 from ledgers where organization_id = 'org_held' for update`);
    const allocate = (organizationId: string, userId: string) =>
      asCaller({ organizationId }, () => credits.gateway.setAllocation({ userId, monthlyLimit: 10 }));
    // Several times as many as the service has connections.
    const waiting = Promise.allSettled(Array.from({ length: 60 }, (_, n) => allocate('org_held', `usr_${n}`)));
    expect((await allocate('org_spared', 'usr_1')).allocation?.monthlyLimit).toBe(10);
    await database.query('rollback');
    expect((await waiting).map(({ status }) => status)).toContain('fulfilled');
  } finally {
    await database.end();
  }
});
