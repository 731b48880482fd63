import { type Call, callersAndOperators, operatorService, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import { addUser } from '../store/add-user.ts';
import { checkEmail, checkName, checkRole } from './operator-input.ts';

export const createUser = ({ store, auditRelay, events }: IdentityContext): RpcOf<'identity', 'createUser'> => ({
  allow: callersAndOperators({ scope: 'users:write' }),
  async handle({ name, email, role }, call) {
    const { organizationId } = call.tenant;
    const user = { name: checkName(name), email: checkEmail(email), role: checkRole(role || 'member') };
    if (user.role === 'admin') requireAdministrator(call);
    const response = await once(store, call, async (transaction) => {
      const added = await addUser(transaction, call, { ...user, organizationId, kind: 'person' });
      await events.registered(transaction.sql, organizationId, added);
      return { user: added };
    });
    auditRelay.nudge();
    events.nudge();
    return response;
  },
});

/** An application with users:write manages members only: the user it makes must not be able to do more than itself. */
function requireAdministrator({ caller }: Call): void {
  if (caller.service === operatorService || caller.principal?.role === 'admin') return;
  throw new ServiceError('admin_required', { message: 'Only an administrator may register an administrator.' });
}
