import { operators, type RpcOf, ServiceError } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';

export const getOrganization = ({ store }: IdentityContext): RpcOf<'identity', 'getOrganization'> => ({
  allow: operators,
  async handle({ organizationId }) {
    const [organization] = await store.sql<{ id: string; name: string }>('select id, name from organizations where id = $1', [
      organizationId,
    ]);
    if (!organization) throw new ServiceError('not_found', { message: 'There is no such organization.', param: 'organization' });
    return { organizationId: organization.id, name: organization.name };
  },
});
