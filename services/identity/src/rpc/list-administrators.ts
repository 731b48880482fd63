import { type RpcOf, services } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { listAdministrators as selectAdministrators } from '../store/users.ts';
import { toUser } from './user-message.ts';

export const listAdministrators = ({ store }: IdentityContext): RpcOf<'identity', 'listAdministrators'> => ({
  allow: services('webhooks'),
  async handle({ organizationId }) {
    return { users: (await selectAdministrators(store.sql, organizationId)).map(toUser) };
  },
});
