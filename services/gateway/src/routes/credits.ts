import { type Client, required } from '@agent-service/contracts';
import { text } from '@agent-service/contracts/text';
import { z } from 'zod';
import { route } from '../routing/route.ts';
import {
  amount,
  creditSettings,
  organizationBalance,
  toCreditSettings,
  toOrganizationBalance,
  toUserAllocation,
  toUserBalance,
  userAllocation,
  userBalance,
} from '../schemas/credits.ts';
import { cursor, isoDate, limit, pageRequest, toListMeta } from '../schemas/list-query.ts';
import { toAggregate, toUsageRecord, toUsageSummary, usageResponse, usageSummary } from '../schemas/usage.ts';
import { userParams } from '../schemas/user.ts';

export const getBalance = route({
  method: 'GET',
  path: '/v1/credits/balance',
  operationId: 'getBalance',
  summary: 'View the credit balance of the organization',
  tag: 'Credits',
  auth: 'token',
  scope: 'credits:read',
  cost: 'read',
  response: z.strictObject({ data: organizationBalance }),
  async handler(_request, { credits }) {
    const response = await credits.getBalance({});
    return { data: toOrganizationBalance(required(response.balance)) };
  },
});

export const getUsageSummary = route({
  method: 'GET',
  path: '/v1/credits/summary',
  operationId: 'getUsageSummary',
  summary: 'Summarize the usage of the current billing period',
  tag: 'Credits',
  auth: 'token',
  scope: 'credits:read',
  cost: 'read',
  response: z.strictObject({ data: usageSummary }),
  async handler(_request, { credits }) {
    const response = await credits.summarizeUsage({});
    return { data: toUsageSummary(required(response.summary)) };
  },
});

export const getUserBalance = route({
  method: 'GET',
  path: '/v1/credits/users/{user_id}/balance',
  operationId: 'getUserBalance',
  summary: 'View the credit balance of a user',
  tag: 'Credits',
  auth: 'token',
  scope: 'credits:read',
  cost: 'read',
  params: userParams,
  response: z.strictObject({ data: userBalance }),
  async handler({ params: { user_id: userId } }, { identity, credits }) {
    // Credits opens an account for every user id that it receives, so identity is asked first whether the user exists.
    await identity.getUser({ userId });
    const response = await credits.getUserBalance({ userId });
    return { data: toUserBalance(required(response.balance)) };
  },
});

const usageOwner = text(1, 128).optional();

const usageQuery = z.strictObject({
  limit: limit(50, 200),
  cursor,
  user_id: usageOwner,
  agent_id: usageOwner,
  date_from: isoDate.optional(),
  date_to: isoDate.optional().meta({ description: 'Included: of a date the whole day in UTC, of a time its millisecond.' }),
  group_by: z
    .enum(['day', 'week', 'month', 'user', 'agent'])
    .optional()
    .meta({ description: 'Aggregates over whole days, 366 at most: without dates the current month. Without it the records themselves.' }),
});

export const listUsage = route({
  method: 'GET',
  path: '/v1/credits/usage',
  operationId: 'listUsage',
  summary: 'List or aggregate the usage of credits',
  description:
    'Records come newest first, periods earliest first, users and agents by what they used. These change places while the organization works: walk ranges that have ended, or compare what all pages had with `meta.total`, and read again.',
  tag: 'Credits',
  auth: 'token',
  scope: 'credits:read',
  cost: 'read',
  query: usageQuery,
  response: usageResponse,
  errors: ['invalid_cursor'],
  handler: ({ query: input, requestId }, { credits }) => listOrAggregate(credits, input, requestId),
});

async function listOrAggregate(
  credits: Client<'credits'>,
  input: z.output<typeof usageQuery>,
  requestId: string,
): Promise<z.output<typeof usageResponse>> {
  const { user_id: userId = '', agent_id: agentId = '', date_from: dateFrom = '', date_to: dateTo = '', group_by: groupBy } = input;
  const request = { page: pageRequest(input), filter: { userId, agentId, dateFrom, dateTo } };
  if (groupBy !== undefined) return toAggregate(groupBy, await credits.aggregateUsage({ ...request, groupBy }), requestId);
  const { records, page } = await credits.listUsage(request);
  return { data: records.map(toUsageRecord), meta: toListMeta(page, requestId) };
}

export const setAllocation = route({
  method: 'PUT',
  path: '/v1/credits/users/{user_id}/allocation',
  operationId: 'setAllocation',
  summary: 'Allocate credits to a user',
  description:
    'Sets the monthly limit and earmarks the credits for it. A lower limit binds at once and returns credits to the organization.',
  tag: 'Credits',
  auth: 'token',
  scope: 'credits:write',
  cost: 'write',
  params: userParams,
  body: z.strictObject({ monthly_limit: amount(0, 500), rollover_enabled: z.boolean().default(false) }),
  response: z.strictObject({ data: userAllocation }),
  errors: ['insufficient_unallocated_credits'],
  async handler({ params: { user_id: userId }, body }, { identity, credits }) {
    await identity.getUser({ userId });
    const response = await credits.setAllocation({ userId, monthlyLimit: body.monthly_limit, rolloverEnabled: body.rollover_enabled });
    return { data: toUserAllocation(required(response.allocation)) };
  },
});

export const getCreditSettings = route({
  method: 'GET',
  path: '/v1/credits/settings',
  operationId: 'getCreditSettings',
  summary: 'View how the organization’s credits are replenished, watched and given out',
  tag: 'Credits',
  auth: 'token',
  scope: 'credits:read',
  cost: 'read',
  extension: true,
  response: z.strictObject({ data: creditSettings }),
  async handler(_request, { credits }) {
    const response = await credits.getBalance({});
    return { data: toCreditSettings(required(response.balance)) };
  },
});

export const updateCreditSettings = route({
  method: 'PATCH',
  path: '/v1/credits/settings',
  operationId: 'updateCreditSettings',
  summary: 'Change how the organization’s credits are replenished, watched and given out',
  tag: 'Credits',
  auth: 'token',
  scope: 'credits:write',
  admin: true,
  cost: 'write',
  extension: true,
  body: z.strictObject({
    auto_replenish: z.boolean().optional().meta({ example: true }),
    replenish_threshold: amount(0, 100).optional(),
    replenish_amount: amount(1, 1000).optional(),
    low_balance_threshold: amount(0, 200).nullable().optional().meta({ description: 'Null: a tenth of the last purchase.' }),
    default_monthly_limit: amount(0, 500).optional(),
  }),
  response: z.strictObject({ data: creditSettings }),
  async handler({ body }, { credits }) {
    const { low_balance_threshold: lowBalanceThreshold } = body;
    const response = await credits.updateSettings({
      ...(body.auto_replenish !== undefined && { autoReplenish: body.auto_replenish }),
      ...(body.replenish_threshold !== undefined && { replenishThreshold: body.replenish_threshold }),
      ...(body.replenish_amount !== undefined && { replenishAmount: body.replenish_amount }),
      ...(typeof lowBalanceThreshold === 'number' && { lowBalanceThreshold }),
      clearLowBalanceThreshold: lowBalanceThreshold === null,
      ...(body.default_monthly_limit !== undefined && { defaultMonthlyLimit: body.default_monthly_limit }),
    });
    return { data: toCreditSettings(required(response.balance)) };
  },
});
