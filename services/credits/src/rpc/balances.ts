import { type Call, callers, checkId, newId, type RpcOf, type Tenant, tenantOf } from '@agent-service/contracts';
import { isEmpty } from '@agent-service/contracts/changes';
import { isoTime, once, type Sql, writeAudit } from '@agent-service/store';
import type { CreditsDeps } from '../deps.ts';
import { type Ledger, organizationBalance, type Settings, type UserBalance } from '../domain/accounts.ts';
import { applyOperations } from '../domain/batch.ts';
import type { Allocation, AllocationChanges, ReadOperation, Result } from '../domain/operations.ts';
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
      const { allocation, changes } = requireSuccess(result, 'allocate');
      await audit(sql, call, 'credits.allocated', { type: 'user', id: userId }, changes);
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
    const values = valuesOf(request);
    await ledgers.prepare();
    const response = await once(store, call, async ({ sql }) => {
      const { result, ledger } = await ledgers.apply(
        sql,
        { organizationId, environment },
        { kind: 'settings', id: newId('trf'), changes: values },
      );
      const { changes } = requireSuccess(result, 'settings');
      await audit(sql, call, 'credits.settings_updated', { type: 'organization', id: organizationId }, changes);
      return { balance: toOrganizationBalance(organizationId, ledger) };
    });
    auditRelay.nudge();
    return response;
  },
});

function valuesOf(request: Request): Partial<Settings> {
  const { autoReplenish, replenishThreshold, replenishAmount, lowBalanceThreshold, clearLowBalanceThreshold, defaultMonthlyLimit } =
    request;
  const low = clearLowBalanceThreshold ? null : lowBalanceThreshold;
  const values = Object.entries({ autoReplenish, replenishThreshold, replenishAmount, lowBalanceThreshold: low, defaultMonthlyLimit });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Partial<Settings>;
}

type Changes = Partial<Settings> & AllocationChanges;

/** The names in the public API, which audit entries use. */
const publicNames: Readonly<Record<keyof Changes, string>> = {
  autoReplenish: 'auto_replenish',
  replenishThreshold: 'replenish_threshold',
  replenishAmount: 'replenish_amount',
  lowBalanceThreshold: 'low_balance_threshold',
  defaultMonthlyLimit: 'default_monthly_limit',
  monthlyLimit: 'monthly_limit',
  rolloverEnabled: 'rollover_enabled',
};

/** Writes the audit entry of a change, unless it changed nothing. */
async function audit(sql: Sql, call: Call, action: string, target: { type: string; id: string }, changes: Changes): Promise<void> {
  if (isEmpty(changes)) return;
  const named = Object.entries(changes).map(([name, value]) => [publicNames[name as keyof Changes], value]);
  await writeAudit(sql, call, { ...tenantOf(call), action, target, changes: Object.fromEntries(named) });
}

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
