import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { toUser, user, userParams } from '../../schemas/user.ts';

export const getUser = route({
  method: 'GET',
  path: '/v1/users/{user_id}',
  operationId: 'getUser',
  summary: 'View a user',
  tag: 'Users',
  auth: 'token',
  scope: 'users:read',
  cost: 'read',
  extension: true,
  params: userParams,
  response: z.strictObject({ data: user }),
  async handler({ params: { user_id } }, { identity }) {
    const answer = await identity.getUser({ userId: user_id });
    return { data: toUser(required(answer.user)) };
  },
});
