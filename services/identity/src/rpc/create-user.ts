import { callersAndOperators, type RpcOf } from '@agent-service/contracts';
import { once } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import type { Role } from '../domain/user-rules.ts';
import { addUser } from '../store/add-user.ts';

export const createUser = ({ store, auditRelay }: IdentityContext): RpcOf<'identity', 'createUser'> => ({
  allow: callersAndOperators({ scope: 'users:write' }),
  async handle({ name, email, role }, call) {
    const { organizationId } = call.tenant;
    const response = await once(store, call, async (transaction) => ({
      user: await addUser(transaction, call, { organizationId, name, email, role: (role || 'member') as Role, kind: 'person' }),
    }));
    auditRelay.nudge();
    return response;
  },
});
