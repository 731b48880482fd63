import { type Call, callers, checkId, newId, type RpcOf, type Tenant, tenantOf } from '@agent-service/contracts';
import { isoTime, once, writeAudit } from '@agent-service/store';
import type { CreditsDeps } from '../deps.ts';
import { type Ledger, organizationBalance, type Settings, type UserBalance } from '../domain/accounts.ts';
import { applyOperations } from '../domain/batch.ts';
import type { Allocation, ReadOperation, Result } from '../domain/operations.ts';
import { findUsers } from '../store/load.ts';
import { requireSuccess } from './holds.ts';

export const getBalance = ({ ledgers }: CreditsDeps): RpcOf<'credits', 'getBalance'> => ({
  allow: callers({ scope: 'credits:read' }),
  async handle(_request, call) {
    const { organizationId, environment } = tenantOf(call);
    const ledger = await ledgers.find({ organizationId, environment });
    return { balance: toOrganizationBalance(organizationId, ledger) };
  },
});

export const getUserBalance = (deps: CreditsDeps): RpcOf<'credits', 'getUserBalance'> => ({
  allow: callers({ scope: 'credits:read' }),
  async handle({ userId }, call) {
    const { organizationId, environment } = tenantOf(call);
    const read: ReadOperation = { kind: 'read', userId: checkId(userId, 'user_id') };
    const result = await readUser(deps, { organizationId, environment }, read, call);
    return { balance: toUserBalance(requireSuccess(result, 'read').user) };
  },
});

/** Reads the committed rows without a lock. Only the first read of a month, which starts it in the account, goes through the queue. */
async function readUser({ store, ledgers, queue, now }: CreditsDeps, tenant: Tenant, read: ReadOperation, call: Call): Promise<Result> {
  const ledger = await ledgers.find(tenant);
  const users = await findUsers(store.sql, tenant, new Set([read.userId]));
  const { results, ledger: changed } = applyOperations({ ledger, users, holds: new Map(), remembered: new Map() }, now(), [read]);
  const [result] = results;
  return result && changed === null ? result : await queue.submit(tenant, read, call.expiresAt - performance.now());
}

/** Sets a user's monthly limit and moves the credits for it from the pool. */
export const setAllocation = ({ store, ledgers, auditRelay }: CreditsDeps): RpcOf<'credits', 'setAllocation'> => ({
  allow: callers({ scope: 'credits:write' }),
  async handle({ userId, monthlyLimit, rolloverEnabled }, call) {
    const { organizationId, environment } = tenantOf(call);
    checkId(userId, 'user_id');
    await ledgers.prepare();
    const response = await once(store, call, async ({ sql }) => {
      // A new id for each request: the idempotency record finds repeated requests.
      const { result } = await ledgers.apply(
        sql,
        { organizationId, environment },
        { kind: 'allocate', id: newId('trf'), userId, monthlyLimit, rollover: rolloverEnabled },
      );
      const { allocation } = requireSuccess(result, 'allocate');
      await writeAudit(sql, call, {
        action: 'credits.allocated',
        organizationId,
        environment,
        target: { type: 'user', id: userId },
        changes: { monthly_limit: monthlyLimit, rollover_enabled: rolloverEnabled },
      });
      return { allocation: toUserAllocation(allocation) };
    });
    auditRelay.nudge();
    return response;
  },
});

type Request = Parameters<RpcOf<'credits', 'updateSettings'>['handle']>[0];

export const updateSettings = ({ store, ledgers, auditRelay }: CreditsDeps): RpcOf<'credits', 'updateSettings'> => ({
  allow: callers({ scope: 'credits:write', admin: true }),
  async handle(request, call) {
    const { organizationId, environment } = tenantOf(call);
    const changes = changesOf(request);
    await ledgers.prepare();
    const response = await once(store, call, async ({ sql }) => {
      const { result, ledger } = await ledgers.apply(sql, { organizationId, environment }, { kind: 'settings', id: newId('trf'), changes });
      requireSuccess(result, 'settings');
      await writeAudit(sql, call, {
        action: 'credits.settings_updated',
        organizationId,
        environment,
        target: { type: 'organization', id: organizationId },
        changes: toAuditChanges(changes),
      });
      return { balance: toOrganizationBalance(organizationId, ledger) };
    });
    auditRelay.nudge();
    return response;
  },
});

function changesOf(request: Request): Partial<Settings> {
  const { autoReplenish, replenishThreshold, replenishAmount, lowBalanceThreshold, clearLowBalanceThreshold, defaultMonthlyLimit } =
    request;
  const low = clearLowBalanceThreshold ? null : lowBalanceThreshold;
  const changes = Object.entries({ autoReplenish, replenishThreshold, replenishAmount, lowBalanceThreshold: low, defaultMonthlyLimit });
  return Object.fromEntries(changes.filter(([, value]) => value !== undefined)) as Partial<Settings>;
}

/** The settings under the names that they have in the public API, as those of every audit entry. */
const publicNames: Readonly<Record<keyof Settings, string>> = {
  autoReplenish: 'auto_replenish',
  replenishThreshold: 'replenish_threshold',
  replenishAmount: 'replenish_amount',
  lowBalanceThreshold: 'low_balance_threshold',
  defaultMonthlyLimit: 'default_monthly_limit',
};

const toAuditChanges = (changes: Partial<Settings>) =>
  Object.fromEntries(Object.entries(changes).map(([name, value]) => [publicNames[name as keyof Settings], value]));

export function toOrganizationBalance(organizationId: string, ledger: Ledger) {
  const { lowBalanceThreshold, updatedAt, ...balance } = organizationBalance(ledger);
  return {
    organizationId,
    ...balance,
    ...(lowBalanceThreshold !== null && { lowBalanceThreshold }),
    updatedAt: isoTime(updatedAt),
  };
}

const toUserBalance = (balance: UserBalance) => ({ ...balance, updatedAt: isoTime(balance.updatedAt) });

const toUserAllocation = (allocation: Allocation) => ({
  ...allocation,
  effectiveFrom: isoTime(allocation.effectiveFrom),
  updatedAt: isoTime(allocation.updatedAt),
});
