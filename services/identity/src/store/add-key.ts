import { randomBytes } from 'node:crypto';
import { type Call, type Environment, makeApiKey, newId, type Role, ServiceError, scopesOfRole } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { isViolation, type Transaction, writeAudit } from '@agent-service/store';
import { randomText } from '../domain/client-secret.ts';
import type { KeyedHash } from '../tokens/keyed-hash.ts';
import { ApiKey } from './entities.ts';

interface NewKey {
  organizationId: string;
  userId: string;
  environment: Environment;
  role: Role;
  /** None stands for all that the role may hold. */
  scopes: readonly string[];
  admin: boolean;
  tokenTtlSeconds: number | null;
}

const randomCharacters = 32;

/** Makes a key; the clear text is in the answer and nowhere else. */
export async function addKey(
  { em, sql }: Transaction,
  call: Call,
  keyedHash: KeyedHash,
  { role, ...key }: NewKey,
): Promise<{ keyId: string; apiKey: string }> {
  const apiKey = makeApiKey(key.environment, randomText(randomCharacters, randomBytes));
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
  await writeAudit(sql, call, {
    action: 'key.created',
    organizationId,
    environment,
    target: { type: 'key', id: keyId },
    changes: { user_id: userId, scopes, admin, hint },
  });
  return { keyId, apiKey };
}
