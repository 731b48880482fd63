import { randomBytes } from 'node:crypto';
import { type Call, newId, operators, type Role, type RpcOf, scopesOfRole } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { type Transaction, writeAudit } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import { makeClientSecret } from '../domain/client-secret.ts';
import { requireActiveUser } from '../store/active-user.ts';
import { addUser } from '../store/add-user.ts';
import { OauthClient } from '../store/entities.ts';
import { checkEnvironment, checkScopes } from './operator-input.ts';

/** Registers an application; without a user it gets a service user of its own, who is charged for what it does. */
export const createOauthClient = ({ store, keyedHash, auditRelay }: IdentityContext): RpcOf<'identity', 'createOauthClient'> => ({
  allow: operators,
  async handle({ organizationId, environment, userId, scopes }, call) {
    const place = checkEnvironment(environment);
    const granted = checkScopes(scopes);
    const clientId = newId('app');
    const clientSecret = makeClientSecret(randomBytes);
    const owner = await store.transaction(async (transaction) => {
      const { id: user, role } = await ownerOf(transaction, call, organizationId, userId, clientId);
      const clientScopes = granted.length > 0 ? granted : [...scopesOfRole({ role, environment: place })];
      transaction.em.create(OauthClient, {
        organizationId,
        id: clientId,
        environment: place,
        userId: user,
        secretHash: keyedHash(clientSecret),
        scopes: clientScopes,
        createdAt: new Date(processClock.now()),
        revokedAt: null,
      });
      await transaction.em.flush();
      await writeAudit(transaction.sql, call, {
        action: 'oauth_client.created',
        organizationId,
        environment: place,
        target: { type: 'oauth_client', id: clientId },
        changes: { user_id: user, scopes: clientScopes },
      });
      return user;
    });
    auditRelay.nudge();
    return { clientId, clientSecret, userId: owner };
  },
});

interface Owner {
  id: string;
  role: Role | '';
}

async function ownerOf(transaction: Transaction, call: Call, organizationId: string, userId: string, clientId: string): Promise<Owner> {
  if (userId) return { id: userId, role: await requireActiveUser(transaction.sql, organizationId, userId) };
  const user = await addUser(transaction, call, {
    organizationId,
    name: `Application ${clientId}`,
    email: '',
    role: 'member',
    kind: 'service',
  });
  return { id: user.id, role: '' };
}
