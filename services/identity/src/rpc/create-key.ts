import { operators, type RpcOf } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { requireActiveUser } from '../store/active-user.ts';
import { addKey } from '../store/add-key.ts';
import { checkEnvironment, checkScopes, checkTtl } from './operator-input.ts';

export const createKey = ({ store, keyedHash, auditRelay }: IdentityContext): RpcOf<'identity', 'createKey'> => ({
  allow: operators,
  async handle({ organizationId, userId, environment, scopes, admin, tokenTtlSeconds }, call) {
    const place = checkEnvironment(environment);
    const granted = checkScopes(scopes);
    const ttl = checkTtl(tokenTtlSeconds);
    const key = await store.transaction(async (transaction) => {
      const role = await requireActiveUser(transaction.sql, organizationId, userId);
      return addKey(transaction, call, keyedHash, {
        organizationId,
        userId,
        role: role || 'member',
        environment: place,
        scopes: granted,
        admin,
        tokenTtlSeconds: ttl,
      });
    });
    auditRelay.nudge();
    return key;
  },
});
