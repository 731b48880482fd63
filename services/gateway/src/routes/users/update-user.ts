import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { email, role, toUser, updatedUser, userName, userParams, userStatus } from '../../schemas/user.ts';

export const updateUser = route({
  method: 'PATCH',
  path: '/v1/users/{user_id}',
  operationId: 'updateUser',
  summary: 'Change a user',
  description: `Deactivating a user ends the user’s API keys and applications; the answer says how many. A demotion binds at once, for tokens
issued before as well. Making, demoting or deactivating an administrator needs an administrator. Your own role and status can only be changed
by another administrator, and the last active administrator stays. A credential of the test environment cannot change users.`,
  tag: 'Users',
  auth: 'token',
  scope: 'users:write',
  cost: 'write',
  extension: true,
  params: userParams,
  body: z.strictObject({ name: userName.optional(), email: email.optional(), role: role.optional(), status: userStatus.optional() }),
  response: z.strictObject({ data: updatedUser }),
  errors: ['email_taken', 'last_admin', 'own_role_or_status', 'admin_required'],
  async handler({ params: { user_id }, body }, { identity }) {
    const changes = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    const answer = await identity.updateUser({ userId: user_id, ...changes });
    const ended = answer.endedCredentials;
    return {
      data: {
        ...toUser(required(answer.user)),
        ...(ended && { ended_credentials: { api_keys: ended.apiKeys, oauth_applications: ended.oauthApplications } }),
      },
    };
  },
});
