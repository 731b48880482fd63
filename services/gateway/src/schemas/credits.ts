import type { Client } from '@agent-service/contracts';
import { z } from 'zod';

const largestAmount = 2_000_000_000;
const userId = z.string().meta({ example: 'usr_01jz0000000000000000000000' });
const updatedAt = z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' });

/** A number of credits that a caller sets. */
export const amount = (least: number, example: number) =>
  z.int(`must be a whole number from ${least} to ${largestAmount}`).min(least).max(largestAmount).meta({ example });

const balanceFields = {
  organization_id: z.string().meta({ example: 'org_01jz0000000000000000000000' }),
  balance: z.int().meta({ description: 'All credits that remain.', example: 9500 }),
  allocated: z.int().meta({ description: 'Credits assigned to users, what is held for their answers included.', example: 1500 }),
  unallocated: z.int().meta({ description: 'Credits that can be allocated.', example: 8000 }),
  auto_replenish: z.boolean().meta({ example: true }),
  replenish_threshold: z.int().meta({ description: 'The balance below which credits are added.', example: 100 }),
  replenish_amount: z.int().meta({ description: 'How many are added at a time.', example: 1000 }),
  updated_at: updatedAt,
};

export const organizationBalance = z.strictObject(balanceFields).meta({ id: 'OrganizationBalance' });

export const creditSettings = z
  .strictObject({
    ...balanceFields,
    low_balance_threshold: z.int().nullable().meta({ description: 'Null: a tenth of the last purchase.', example: null }),
    default_monthly_limit: z.int().meta({ description: 'The limit of users without an allocation.', example: 500 }),
  })
  .meta({ id: 'CreditSettings' });

export const userBalance = z
  .strictObject({
    user_id: userId,
    balance: z.int().meta({ description: 'The credits that are assigned to the user and not held for an answer.', example: 480 }),
    monthly_limit: z.int().meta({ example: 500 }),
    used_this_month: z.int().meta({ example: 20 }),
    rollover_enabled: z.boolean().meta({ example: false }),
    updated_at: updatedAt,
  })
  .meta({ id: 'UserBalance' });

export const userAllocation = z
  .strictObject({
    user_id: userId,
    monthly_limit: z.int().meta({ example: 500 }),
    rollover_enabled: z.boolean().meta({ example: false }),
    effective_from: z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' }),
    updated_at: updatedAt,
  })
  .meta({ id: 'UserAllocation' });

type Credits = Client<'credits'>;
type OrganizationBalanceMessage = NonNullable<Awaited<ReturnType<Credits['getBalance']>>['balance']>;
type UserBalanceMessage = NonNullable<Awaited<ReturnType<Credits['getUserBalance']>>['balance']>;
type UserAllocationMessage = NonNullable<Awaited<ReturnType<Credits['setAllocation']>>['allocation']>;

/** Converts a balance of credits to its public form. */
export const toOrganizationBalance = (message: OrganizationBalanceMessage): z.output<typeof organizationBalance> => ({
  organization_id: message.organizationId,
  balance: Number(message.balance),
  allocated: Number(message.allocated),
  unallocated: Number(message.unallocated),
  auto_replenish: message.autoReplenish,
  replenish_threshold: message.replenishThreshold,
  replenish_amount: message.replenishAmount,
  updated_at: message.updatedAt,
});

export const toCreditSettings = (message: OrganizationBalanceMessage): z.output<typeof creditSettings> => ({
  ...toOrganizationBalance(message),
  low_balance_threshold: message.lowBalanceThreshold ?? null,
  default_monthly_limit: message.defaultMonthlyLimit,
});

export const toUserBalance = (message: UserBalanceMessage): z.output<typeof userBalance> => ({
  user_id: message.userId,
  balance: Number(message.balance),
  monthly_limit: message.monthlyLimit,
  used_this_month: Number(message.usedThisMonth),
  rollover_enabled: message.rolloverEnabled,
  updated_at: message.updatedAt,
});

export const toUserAllocation = (message: UserAllocationMessage): z.output<typeof userAllocation> => ({
  user_id: message.userId,
  monthly_limit: message.monthlyLimit,
  rollover_enabled: message.rolloverEnabled,
  effective_from: message.effectiveFrom,
  updated_at: message.updatedAt,
});
