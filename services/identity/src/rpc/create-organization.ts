import { newId, operators, type RpcOf } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { writeAudit } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import { addKey } from '../store/add-key.ts';
import { addUser } from '../store/add-user.ts';
import { Organization } from '../store/entities.ts';
import { checkEmail, checkName } from './operator-input.ts';

/** An organization begins with one administrator, who has an administrator's key in each environment. */
export const createOrganization = ({ store, keyedHash, auditRelay }: IdentityContext): RpcOf<'identity', 'createOrganization'> => ({
  allow: operators,
  async handle({ name, email }, call) {
    const organizationId = newId('org');
    const address = email === '' ? '' : checkEmail(email);
    const created = await store.transaction(async (transaction) => {
      transaction.em.create(Organization, { id: organizationId, name: checkName(name), createdAt: new Date(processClock.now()) });
      await transaction.em.flush();
      await writeAudit(transaction.sql, call, {
        action: 'organization.created',
        organizationId,
        environment: '',
        target: { type: 'organization', id: organizationId },
        changes: { name },
      });
      const user = await addUser(transaction, call, {
        organizationId,
        name: 'Administrator',
        email: address,
        role: 'admin',
        kind: 'person',
      });
      const key = (environment: 'live' | 'test') =>
        addKey(transaction, call, keyedHash, {
          organizationId,
          userId: user.id,
          role: 'admin',
          environment,
          scopes: [],
          admin: true,
          tokenTtlSeconds: null,
        });
      return { organizationId, userId: user.id, liveApiKey: (await key('live')).apiKey, testApiKey: (await key('test')).apiKey };
    });
    auditRelay.nudge();
    return created;
  },
});
