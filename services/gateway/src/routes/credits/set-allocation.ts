import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { amount, toUserAllocation, userAllocation } from '../../schemas/credits.ts';
import { userParams } from '../../schemas/user.ts';

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
    const answer = await credits.setAllocation({ userId, monthlyLimit: body.monthly_limit, rolloverEnabled: body.rollover_enabled });
    return { data: toUserAllocation(required(answer.allocation)) };
  },
});
