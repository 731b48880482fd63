import { z } from 'zod';
import { email, role, toUser, user, userName, userParams, userStatus } from '../schemas/user.ts';
import { present } from './present.ts';
import { route } from './route.ts';

export const updateUser = route({
  method: 'PATCH',
  path: '/v1/users/{user_id}',
  operationId: 'updateUser',
  summary: 'Change a user',
  description: 'Deactivating a user ends the user’s API keys and sessions.',
  tag: 'Users',
  auth: 'token',
  scope: 'users:write',
  cost: 'write',
  extension: true,
  params: userParams,
  body: z.strictObject({ name: userName.optional(), email: email.optional(), role: role.optional(), status: userStatus.optional() }),
  response: z.strictObject({ data: user }),
  errors: ['email_taken', 'last_admin'],
  async handler({ params: { user_id }, body }, { identity }) {
    const changes = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    const answer = await identity.updateUser({ userId: user_id, ...changes });
    return { data: toUser(present(answer.user)) };
  },
});
