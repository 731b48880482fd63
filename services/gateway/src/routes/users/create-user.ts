import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { email, role, toUser, user, userName } from '../../schemas/user.ts';

export const createUser = route({
  method: 'POST',
  path: '/v1/users',
  operationId: 'createUser',
  summary: 'Register a user',
  description: 'Only an administrator may register an administrator. A credential of the test environment cannot change users.',
  tag: 'Users',
  auth: 'token',
  scope: 'users:write',
  cost: 'write',
  extension: true,
  body: z.strictObject({ name: userName, email, role: role.default('member') }),
  status: 201,
  response: z.strictObject({ data: user }),
  errors: ['email_taken', 'admin_required'],
  async handler({ body }, { identity }) {
    const answer = await identity.createUser(body);
    return { data: toUser(required(answer.user)) };
  },
});
