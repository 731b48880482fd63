import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { toUserBalance, userBalance } from '../../schemas/credits.ts';
import { userParams } from '../../schemas/user.ts';

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
    // Credits opens an account for a caller who it is asked about; only identity knows who there is.
    await identity.getUser({ userId });
    const answer = await credits.getUserBalance({ userId });
    return { data: toUserBalance(required(answer.balance)) };
  },
});
