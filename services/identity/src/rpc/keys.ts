import {
  type Call,
  callersAndOperators,
  cutToRole,
  newId,
  type Principal,
  type Role,
  type RpcOf,
  requirePrincipal,
  ServiceError,
  type Tenant,
  tenantOf,
} from '@agent-service/contracts';
import { changedValues, isEmpty } from '@agent-service/contracts/changes';
import { processClock } from '@agent-service/runtime';
import { isoTime, lastOf, limitOf, type Transaction, writeAudit } from '@agent-service/store';
import { type InferEntity, LockMode } from '@agent-service/store/entities';
import type { IdentityDeps } from '../deps.ts';
import {
  type CredentialDetail,
  type CredentialFilter,
  type CredentialKind,
  countCredentials,
  findCredential,
  listCredentials,
} from '../store/credential-lists.ts';
import { ApiKey } from '../store/entities.ts';
import { lockActiveUser } from '../store/users.ts';
import { changeAs, requirePresent } from './caller.ts';
import { addKey } from './credentials.ts';
import { checkAdminFlag, checkName, checkOverlap, checkStatusFilter, checkTtl, grantScopesOf, requireScopes } from './input.ts';

/** Active ones of a tenant, for each of the two kinds. */
const maxCredentials = 1_000;

/** For administrators of the tenant. An operator names the tenant in the principal of the call. */
export const managers = callersAndOperators({ admin: true });

export const listKeys = (deps: IdentityDeps): RpcOf<'identity', 'listKeys'> => ({
  allow: managers,
  async handle({ page, userId, status }, call) {
    const filter = { userId, status: checkStatusFilter(status) };
    const listed = await listPage(deps, 'api_key', tenantOf(call), filter, page);
    return { keys: listed.credentials.map(toKey), page: listed.page };
  },
});

/** A page of credentials, newest first. */
export async function listPage(
  { store, cursors }: IdentityDeps,
  kind: CredentialKind,
  { organizationId, environment }: Tenant,
  filter: CredentialFilter,
  page: { limit: number; cursor: string } | null,
) {
  const tenant = { organizationId, environment };
  const limit = limitOf(page);
  const binding = [kind, organizationId, environment, filter.userId, filter.status];
  const start = cursors.decode(binding, page?.cursor ?? '');
  const [rows, total] = await Promise.all([
    listCredentials(store.sql, kind, tenant, filter, start?.after, limit),
    countCredentials(store.sql, kind, tenant, filter),
  ]);
  const last = lastOf(rows, limit);
  const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id] }) : '';
  return { credentials: rows.slice(0, limit), page: { total, nextCursor } };
}

export const getKey = ({ store }: IdentityDeps): RpcOf<'identity', 'getKey'> => ({
  allow: managers,
  async handle({ keyId }, call) {
    return { key: await readKey(store, call, keyId) };
  },
});

/** The credential of the caller's tenant. */
export async function requireCredential({ sql }: Pick<Transaction, 'sql'>, kind: CredentialKind, call: Call, id: string) {
  const credential = await findCredential(sql, kind, tenantOf(call), id);
  if (!credential) throw new ServiceError('not_found');
  return credential;
}

/** Creates a key for the caller or another user of the organization, in the caller's environment. */
export const issueKey = (deps: IdentityDeps): RpcOf<'identity', 'issueKey'> => ({
  allow: managers,
  async handle({ admin, ...request }, call) {
    const { keyedHash, cipher, auditRelay } = deps;
    const caller = requirePrincipal(call);
    const { organizationId, environment } = caller;
    const userId = request.userId || caller.userId;
    const name = checkName(request.name);
    const tokenTtlSeconds = checkTtl(request.tokenTtlSeconds);
    // The outcome that is stored under an Idempotency-Key has the sealed key, and each repeated request opens it.
    const stored = await changeAs(deps, call, async (transaction) => {
      const role = await lockOwner(transaction, organizationId, userId);
      checkAdminFlag(admin, role);
      const scopes = grantScopesOf(request.scopes.length > 0 ? request.scopes : undefined, caller, role);
      const key = { organizationId, userId, name, environment, scopes, admin, tokenTtlSeconds };
      const { keyId, apiKey } = await addKey(transaction, call, keyedHash, key);
      await checkLimit(transaction, 'api_key', caller);
      return { key: await readKey(transaction, call, keyId), sealedSecret: cipher.encrypt(apiKey, secretContext(caller, keyId)) };
    });
    auditRelay.nudge();
    return { key: stored.key, apiKey: cipher.decrypt(stored.sealedSecret, secretContext(caller, stored.key.id)) };
  },
});

/** The context that a stored secret is sealed with, so that it cannot be opened for another credential. */
export const secretContext = ({ organizationId, environment }: Tenant, id: string): string =>
  `credential ${organizationId}/${environment}/${id}`;

/** The role that the user's keys have. */
async function lockOwner({ sql }: Transaction, organizationId: string, userId: string): Promise<Role> {
  return (await lockActiveUser(sql, organizationId, userId)) || 'member';
}

/** After the insertion, whose trigger has locked the counter: two creations cannot both be the last. */
export async function checkLimit({ sql }: Transaction, kind: CredentialKind, tenant: Tenant): Promise<void> {
  const active = await countCredentials(sql, kind, tenant, { userId: '', status: 'active' });
  if (active > maxCredentials) throw new ServiceError('credential_limit_reached', { details: { limit: maxCredentials } });
}

const readKey = async (transaction: Pick<Transaction, 'sql'>, call: Call, keyId: string) =>
  toKey(await requireCredential(transaction, 'api_key', call, keyId));

export const updateKey = (deps: IdentityDeps): RpcOf<'identity', 'updateKey'> => ({
  allow: managers,
  async handle({ keyId, name, scopes, tokenTtlSeconds }, call) {
    const { auditRelay, waitForRevocation } = deps;
    const caller = requirePrincipal(call);
    const { organizationId, environment } = caller;
    const change = async (transaction: Transaction) => {
      const { em, sql } = transaction;
      const { key, role } = await lockActiveKey(transaction, caller, keyId);
      const changes = changedValues(key, {
        ...(name !== undefined && { name: checkName(name) }),
        ...(scopes && { scopes: [...grantScopesOf(scopes.values, caller, role)] }),
        ...(tokenTtlSeconds !== undefined && { tokenTtlSeconds: checkTtl(tokenTtlSeconds) }),
      });
      if (isEmpty(changes)) return { key: await readKey(transaction, call, keyId) };
      em.assign(key, changes);
      await em.flush();
      const { tokenTtlSeconds: token_ttl_seconds, ...rest } = changes;
      await writeAudit(sql, call, {
        action: 'key.updated',
        organizationId,
        environment,
        target: { type: 'key', id: keyId },
        changes: { ...rest, ...(token_ttl_seconds !== undefined && { token_ttl_seconds }) },
      });
      return { key: await readKey(transaction, call, keyId) };
    };
    const response = await changeAs(deps, call, change, keyId);
    auditRelay.nudge();
    // A scope that was taken away is refused everywhere when this answers.
    if (scopes) await waitForRevocation(0);
    return response;
  },
});

/** Locks the key and, before it, its user, as a deactivation does. */
async function lockActiveKey(transaction: Transaction, caller: Principal, id: string) {
  const { em, sql } = transaction;
  const { organizationId, environment } = caller;
  const key = await em.findOne(ApiKey, { organizationId, environment, id });
  if (!key) throw new ServiceError('not_found');
  checkNotEnded(key);
  const role = await lockOwner(transaction, organizationId, key.userId);
  await em.refresh(key, { lockMode: LockMode.PESSIMISTIC_WRITE });
  checkNotEnded(key);
  if (id === caller.credentialId) await requirePresent(sql, caller);
  return { key, role };
}

function checkNotEnded({ revokedAt, replacedBy }: Pick<InferEntity<typeof ApiKey>, 'revokedAt' | 'replacedBy'>): void {
  if (revokedAt) throw new ServiceError('credential_ended', { details: { replaced_by: replacedBy } });
}

/** The new key has an id of its own, so that tokens made from the old one end with it. */
export const rotateKey = (deps: IdentityDeps): RpcOf<'identity', 'rotateKey'> => ({
  allow: managers,
  async handle({ keyId, previousValidSeconds }, call) {
    const { keyedHash, cipher, auditRelay, waitForRevocation } = deps;
    const overlapMs = checkOverlap(previousValidSeconds) * 1_000;
    const caller = requirePrincipal(call);
    const { organizationId, environment } = caller;
    const stored = await changeAs(
      deps,
      call,
      async (transaction) => {
        const { key: old, role } = await lockActiveKey(transaction, caller, keyId);
        const { userId, name, admin, tokenTtlSeconds = null } = old;
        const scopes = cutToRole(old.scopes, { role, environment });
        requireScopes(scopes, caller);
        const key = { organizationId, userId, name, environment, scopes, admin, tokenTtlSeconds };
        const newKeyId = newId('key');
        old.replacedBy = newKeyId;
        old.revokedAt = new Date(processClock.now() + overlapMs);
        old.endsLater = overlapMs > 0;
        // Before the new key, because its trigger locks the counters of ended and of active keys, in the order in which a revocation does.
        await transaction.em.flush();
        const { apiKey } = await addKey(transaction, call, keyedHash, key, newKeyId);
        await writeAudit(transaction.sql, call, {
          action: 'key.rotated',
          organizationId,
          environment,
          target: { type: 'key', id: keyId },
          changes: { replaced_by: newKeyId, ends_at: old.revokedAt },
        });
        return {
          key: await readKey(transaction, call, newKeyId),
          previousEndsAt: old.revokedAt.toISOString(),
          sealedSecret: cipher.encrypt(apiKey, secretContext(caller, newKeyId)),
        };
      },
      keyId,
    );
    auditRelay.nudge();
    if (overlapMs === 0) await waitForRevocation(0);
    const { key, previousEndsAt } = stored;
    return { key, previousEndsAt, apiKey: cipher.decrypt(stored.sealedSecret, secretContext(caller, key.id)) };
  },
});

/** A key as the contract carries it, without its secret. */
const toKey = ({ tokenTtlSeconds, ...key }: CredentialDetail) => ({
  id: key.id,
  name: key.name,
  hint: key.hint,
  userId: key.userId,
  scopes: key.scopes,
  admin: key.admin,
  ...(tokenTtlSeconds !== null && { tokenTtlSeconds }),
  ...toTimes(key),
  replacedBy: key.replacedBy,
});

/** The times of a credential as the contract carries them: empty where there is none. */
export const toTimes = ({ createdAt, lastUsedAt, endsAt }: Pick<CredentialDetail, 'createdAt' | 'lastUsedAt' | 'endsAt'>) => ({
  createdAt: isoTime(createdAt),
  lastUsedAt: lastUsedAt ? isoTime(lastUsedAt) : '',
  endsAt: endsAt ? isoTime(endsAt) : '',
});
