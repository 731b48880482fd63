import { type Ledger, organizationBalance, type UserBalance } from '../domain/accounts.ts';
import type { Allocation } from '../domain/operations.ts';

const isoTime = (at: number) => new Date(at).toISOString();

export function toOrganizationBalance(organizationId: string, ledger: Ledger) {
  const { lowBalanceThreshold, updatedAt, ...balance } = organizationBalance(ledger);
  return {
    organizationId,
    ...balance,
    ...(lowBalanceThreshold !== null && { lowBalanceThreshold }),
    updatedAt: isoTime(updatedAt),
  };
}

export const toUserBalance = (balance: UserBalance) => ({ ...balance, updatedAt: isoTime(balance.updatedAt) });

export const toUserAllocation = (allocation: Allocation) => ({
  ...allocation,
  effectiveFrom: isoTime(allocation.effectiveFrom),
  updatedAt: isoTime(allocation.updatedAt),
});
