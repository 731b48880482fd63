import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { createBatcher } from '@agent-service/work';
import type { IdentityContext } from '../context.ts';
import { findUsers, type UserKey, type UserRow } from '../store/users.ts';
import { toUser } from './user-message.ts';

const maxItems = 100;
const concurrency = 2;

/** Look-ups that come together share a statement: under load most of a look-up's cost is its round trip. */
export const getUser = ({ store }: IdentityContext): RpcOf<'identity', 'getUser'> => {
  const lookUps = createBatcher<UserKey, UserRow | undefined>({ maxItems, concurrency, run: (keys) => findUsers(store.sql, keys) });
  return {
    // Whoever may see or set a user's credits is told whether there is such a user.
    allow: callers({ scope: ['users:read', 'credits:read', 'credits:write'] }),
    async handle({ userId }, call) {
      const user = await lookUps.add({ organizationId: call.tenant.organizationId, userId });
      if (!user) throw new ServiceError('not_found');
      return { user: toUser(user) };
    },
  };
};
