import { randomBytes } from 'node:crypto';
import {
  type Call,
  checkEnvironment,
  type Environment,
  makeApiKey,
  newId,
  operators,
  type RpcOf,
  ServiceError,
} from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { isViolation, type Transaction, writeAudit } from '@agent-service/store';
import type { IdentityDeps } from '../deps.ts';
import { type KeyedHash, makeClientSecret, makeRandomText } from '../domain/secrets.ts';
import { ApiKey, OauthClient } from '../store/entities.ts';
import { lockActiveUser } from '../store/users.ts';
import { checkAdminFlag, checkTtl, grantByOperator } from './input.ts';
import { addUser } from './users.ts';

const keyCharacters = 32;

export const createKey = ({ store, keyedHash, auditRelay }: IdentityDeps): RpcOf<'identity', 'createKey'> => ({
  allow: operators,
  async handle({ organizationId, userId, admin, ...request }, call) {
    const environment = checkEnvironment(request.environment);
    const tokenTtlSeconds = checkTtl(request.tokenTtlSeconds);
    const key = await store.transaction(async (transaction) => {
      const role = (await lockActiveUser(transaction.sql, organizationId, userId)) || 'member';
      checkAdminFlag(admin, role);
      const scopes = grantByOperator(request.scopes, environment, role);
      return addKey(transaction, call, keyedHash, { organizationId, userId, name: '', environment, scopes, admin, tokenTtlSeconds });
    });
    auditRelay.nudge();
    return key;
  },
});

interface NewKey {
  readonly organizationId: string;
  readonly userId: string;
  /** May be empty. */
  readonly name: string;
  readonly environment: Environment;
  readonly scopes: readonly string[];
  readonly admin: boolean;
  readonly tokenTtlSeconds: number | null;
}

/** Adds a key. The result is the only place of its clear text. */
export async function addKey(
  { em, sql }: Transaction,
  call: Call,
  keyedHash: KeyedHash,
  key: NewKey,
  keyId: string = newId('key'),
): Promise<{ keyId: string; apiKey: string }> {
  const apiKey = makeApiKey(key.environment, makeRandomText(keyCharacters, randomBytes));
  const scopes = [...key.scopes];
  const hint = `${apiKey.slice(0, 12)}…${apiKey.slice(-4)}`;
  const createdAt = new Date(processClock.now());
  const stored = { ...key, id: keyId, hash: keyedHash(apiKey), hint, scopes, createdAt };
  em.create(ApiKey, { ...stored, revokedAt: null, replacedBy: null, endsLater: false });
  try {
    await em.flush();
  } catch (cause) {
    if (isViolation(cause, 'api_keys_organization_id_user_id_fkey'))
      throw new ServiceError('not_found', { message: 'There is no such user in this organization.', cause });
    throw cause;
  }
  const { organizationId, environment, userId, name, admin } = key;
  const changes = { user_id: userId, ...(name !== '' && { name }), scopes, admin, hint };
  await writeAudit(sql, call, { action: 'key.created', organizationId, environment, target: { type: 'key', id: keyId }, changes });
  return { keyId, apiKey };
}

/** Registers an application. Without a user it gets a service user of its own, who is charged for its answers. */
export const createOauthClient = ({ store, keyedHash, auditRelay }: IdentityDeps): RpcOf<'identity', 'createOauthClient'> => ({
  allow: operators,
  async handle({ organizationId, userId, ...request }, call) {
    const environment = checkEnvironment(request.environment);
    const clientSecret = makeClientSecret(randomBytes);
    const secretHash = keyedHash(clientSecret);
    const added = await store.transaction(async (transaction) => {
      const role = userId === '' ? '' : await lockActiveUser(transaction.sql, organizationId, userId);
      const scopes = grantByOperator(request.scopes, environment, role);
      return addApplication(transaction, call, { organizationId, environment, userId, name: '', scopes, secretHash });
    });
    auditRelay.nudge();
    return { clientId: added.id, clientSecret, userId: added.userId };
  },
});

interface NewApplication {
  readonly organizationId: string;
  readonly environment: Environment;
  /** Empty for a new service user; that of a person is locked by the caller. */
  readonly userId: string;
  /** May be empty. */
  readonly name: string;
  readonly scopes: readonly string[];
  readonly secretHash: string;
}

export async function addApplication(
  transaction: Transaction,
  call: Call,
  application: NewApplication,
): Promise<{ id: string; userId: string }> {
  const { organizationId, environment, name, secretHash } = application;
  const id = newId('app');
  const serviceUser = { organizationId, name: name || `Application ${id}`, email: '', role: 'member', kind: 'service' } as const;
  const userId = application.userId || (await addUser(transaction, call, serviceUser)).id;
  const scopes = [...application.scopes];
  transaction.em.create(OauthClient, {
    organizationId,
    id,
    environment,
    userId,
    name,
    secretHash,
    previousSecretHash: null,
    previousSecretUntil: null,
    tokensSince: null,
    scopes,
    createdAt: new Date(processClock.now()),
    revokedAt: null,
  });
  await transaction.em.flush();
  const target = { type: 'oauth_client', id };
  const changes = { user_id: userId, ...(name !== '' && { name }), scopes };
  await writeAudit(transaction.sql, call, { action: 'oauth_client.created', organizationId, environment, target, changes });
  return { id, userId };
}
