import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { findUser } from '../store/users.ts';
import { toUser } from './user-message.ts';

export const getUser = ({ store }: IdentityContext): RpcOf<'identity', 'getUser'> => ({
  allow: callers({ scope: 'users:read' }),
  async handle({ userId }, call) {
    const user = await findUser(store.sql, call.tenant.organizationId, userId);
    if (!user) throw new ServiceError('not_found');
    return { user: toUser(user) };
  },
});
