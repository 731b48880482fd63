import { randomBytes } from 'node:crypto';
import {
  type Call,
  checkEnvironment,
  type Environment,
  makeApiKey,
  newId,
  operators,
  type Role,
  type RpcOf,
  ServiceError,
  scopesOfRole,
} from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { isViolation, type Transaction, writeAudit } from '@agent-service/store';
import type { IdentityDeps } from '../deps.ts';
import { type KeyedHash, makeClientSecret, makeRandomText } from '../domain/secrets.ts';
import { ApiKey, OauthClient } from '../store/entities.ts';
import { lockActiveUser } from '../store/users.ts';
import { checkScopes, checkTtl } from './input.ts';
import { addUser } from './users.ts';

const keyCharacters = 32;

export const createKey = ({ store, keyedHash, auditRelay }: IdentityDeps): RpcOf<'identity', 'createKey'> => ({
  allow: operators,
  async handle({ organizationId, userId, admin, ...request }, call) {
    const environment = checkEnvironment(request.environment);
    const scopes = checkScopes(request.scopes);
    const tokenTtlSeconds = checkTtl(request.tokenTtlSeconds);
    const key = await store.transaction(async (transaction) => {
      const role = (await lockActiveUser(transaction.sql, organizationId, userId)) || 'member';
      return addKey(transaction, call, keyedHash, { organizationId, userId, role, environment, scopes, admin, tokenTtlSeconds });
    });
    auditRelay.nudge();
    return key;
  },
});

interface NewKey {
  readonly organizationId: string;
  readonly userId: string;
  readonly environment: Environment;
  readonly role: Role;
  /** An empty list stands for every scope of the role. */
  readonly scopes: readonly string[];
  readonly admin: boolean;
  readonly tokenTtlSeconds: number | null;
}

/** Adds a key. The result is the only place of its clear text. */
export async function addKey(
  { em, sql }: Transaction,
  call: Call,
  keyedHash: KeyedHash,
  { role, ...key }: NewKey,
): Promise<{ keyId: string; apiKey: string }> {
  const apiKey = makeApiKey(key.environment, makeRandomText(keyCharacters, randomBytes));
  const keyId = newId('key');
  const scopes = key.scopes.length > 0 ? [...key.scopes] : [...scopesOfRole({ role, environment: key.environment })];
  const hint = `${apiKey.slice(0, 12)}…${apiKey.slice(-4)}`;
  em.create(ApiKey, { ...key, id: keyId, hash: keyedHash(apiKey), hint, scopes, createdAt: new Date(processClock.now()), revokedAt: null });
  try {
    await em.flush();
  } catch (cause) {
    if (isViolation(cause, 'api_keys_organization_id_user_id_fkey'))
      throw new ServiceError('not_found', { message: 'There is no such user in this organization.', cause });
    throw cause;
  }
  const { organizationId, environment, userId, admin } = key;
  const changes = { user_id: userId, scopes, admin, hint };
  await writeAudit(sql, call, { action: 'key.created', organizationId, environment, target: { type: 'key', id: keyId }, changes });
  return { keyId, apiKey };
}

/** Registers an application. Without a user it gets a service user of its own, who is charged for its answers. */
export const createOauthClient = ({ store, keyedHash, auditRelay }: IdentityDeps): RpcOf<'identity', 'createOauthClient'> => ({
  allow: operators,
  async handle({ organizationId, userId: ownerId, ...request }, call) {
    const environment = checkEnvironment(request.environment);
    const checkedScopes = checkScopes(request.scopes);
    const clientId = newId('app');
    const clientSecret = makeClientSecret(randomBytes);
    const userId = await store.transaction(async (transaction) => {
      const owner = await ownerOf(transaction, call, organizationId, ownerId, clientId);
      const scopes = checkedScopes.length > 0 ? checkedScopes : [...scopesOfRole({ role: owner.role, environment })];
      transaction.em.create(OauthClient, {
        organizationId,
        id: clientId,
        environment,
        userId: owner.id,
        secretHash: keyedHash(clientSecret),
        scopes,
        createdAt: new Date(processClock.now()),
        revokedAt: null,
      });
      await transaction.em.flush();
      const target = { type: 'oauth_client', id: clientId };
      const changes = { user_id: owner.id, scopes };
      await writeAudit(transaction.sql, call, { action: 'oauth_client.created', organizationId, environment, target, changes });
      return owner.id;
    });
    auditRelay.nudge();
    return { clientId, clientSecret, userId };
  },
});

interface Owner {
  readonly id: string;
  /** Empty for a service user. */
  readonly role: Role | '';
}

async function ownerOf(transaction: Transaction, call: Call, organizationId: string, userId: string, clientId: string): Promise<Owner> {
  if (userId) return { id: userId, role: await lockActiveUser(transaction.sql, organizationId, userId) };
  const serviceUser = { organizationId, name: `Application ${clientId}`, email: '', role: 'member', kind: 'service' } as const;
  return { id: (await addUser(transaction, call, serviceUser)).id, role: '' };
}
