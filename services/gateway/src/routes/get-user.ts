import { z } from 'zod';
import { toUser, user, userParams } from '../schemas/user.ts';
import { present } from './present.ts';
import { route } from './route.ts';

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
    return { data: toUser(present(answer.user)) };
  },
});
