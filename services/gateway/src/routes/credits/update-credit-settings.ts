import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { amount, creditSettings, toCreditSettings } from '../../schemas/credits.ts';

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
    const answer = await credits.updateSettings({
      ...(body.auto_replenish !== undefined && { autoReplenish: body.auto_replenish }),
      ...(body.replenish_threshold !== undefined && { replenishThreshold: body.replenish_threshold }),
      ...(body.replenish_amount !== undefined && { replenishAmount: body.replenish_amount }),
      ...(typeof lowBalanceThreshold === 'number' && { lowBalanceThreshold }),
      clearLowBalanceThreshold: lowBalanceThreshold === null,
      ...(body.default_monthly_limit !== undefined && { defaultMonthlyLimit: body.default_monthly_limit }),
    });
    return { data: toCreditSettings(required(answer.balance)) };
  },
});
