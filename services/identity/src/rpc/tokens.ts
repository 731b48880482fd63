import { randomUUID } from 'node:crypto';
import {
  type Call,
  callers,
  checkId,
  type Environment,
  operators,
  type RpcOf,
  requirePrincipal,
  ServiceError,
  services,
} from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { writeAudit } from '@agent-service/store';
import type { IdentityDeps } from '../deps.ts';
import { serviceChain } from '../domain/audit-chain.ts';
import { grantTokenScopes } from '../domain/grants.ts';
import { isSameText } from '../domain/secrets.ts';
import { isSessionId } from '../portal/store/sessions.ts';
import { applicationById, keysByHash } from '../store/credentials.ts';
import { revokeSigningKeyRow } from '../store/signing-keys.ts';
import { rotationEntry } from '../tokens/signing-keys.ts';
import { credentialOf, isRevoked, type ParentToken, parentTokenOf } from './caller.ts';

export const issueToken = (deps: IdentityDeps): RpcOf<'identity', 'issueToken'> => ({
  allow: services('gateway'),
  async handle({ apiKey }, call) {
    const provenAt = processClock.now();
    const [key] = await keysByHash(deps.store.sql, deps.keyedHash.accepted(apiKey));
    if (!key) throw new ServiceError('invalid_token', { message: 'The API key is not valid.', param: 'api_key' });
    if (key.revoked) throw new ServiceError('token_revoked', { message: 'The API key has been revoked.', param: 'api_key' });
    deps.formerHashes.record({ credentialId: key.id, former: key.hash, present: deps.keyedHash(apiKey) });
    // The tokens of a replaced key end with it.
    const endsAt = Math.ceil((processClock.now() + (key.endsInMs ?? Number.POSITIVE_INFINITY)) / 1_000);
    return await issueAccessToken(deps, call, { ...key, ttlSeconds: key.tokenTtlSeconds, endsAt, provenAt });
  },
});

/** Checks the client before the scope. An unknown client, a wrong secret and a revoked client get the same answer. */
export const issueClientToken = (deps: IdentityDeps): RpcOf<'identity', 'issueClientToken'> => ({
  allow: services('gateway'),
  async handle({ clientId, clientSecret, scope }, call) {
    const provenAt = processClock.now();
    const client = await applicationById(deps.store.sql, clientId);
    const hashes = deps.keyedHash.accepted(clientSecret);
    const isSecret = (stored: string | null) => stored !== null && hashes.some((hash) => isSameText(hash, stored));
    if (!client || client.revoked || !(isSecret(client.hash) || isSecret(client.previousHash))) throw new ServiceError('invalid_client');
    if (isSecret(client.hash))
      deps.formerHashes.record({ credentialId: client.id, former: client.hash, present: deps.keyedHash(clientSecret) });
    const grant = grantTokenScopes(client.scopes, scope);
    if ('refused' in grant)
      throw new ServiceError('invalid_scope', { message: `This client may not request: ${grant.refused.join(' ')}`, param: 'scope' });
    const token = await issueAccessToken(deps, call, { ...client, scopes: grant.granted, admin: false, ttlSeconds: null, provenAt });
    return { accessToken: token.accessToken, expiresIn: token.expiresIn, scope: grant.granted.join(' ') };
  },
});

const chat = 'agents:chat';
const usualAgentTokenSeconds = 900;
const maxAgentTokenSeconds = 3_600;

/**
 * A token for an end user's browser: it may only send messages to one agent, and ends at the latest with the key, session or token that it
 * was made with. It names that token's signing key and time, because authentication refuses it once it would refuse that token.
 */
export const issueAgentToken = (deps: IdentityDeps): RpcOf<'identity', 'issueAgentToken'> => ({
  allow: callers({ scope: chat }),
  async handle({ agentId, expiresIn }, call) {
    const caller = requirePrincipal(call);
    const { endsAt, parent } = parentTokenOf(caller);
    const provenAt = processClock.now();
    const credential = await credentialOf(deps.store.sql, caller);
    if (!credential || isRevoked(credential, parent)) throw new ServiceError('token_revoked');
    const tokenSeconds = endsAt - processClock.now() / 1_000;
    const left = Math.floor(Math.min(tokenSeconds, (credential.endsInMs ?? Number.POSITIVE_INFINITY) / 1_000));
    const ttlSeconds = expiresIn === 0 ? Math.min(usualAgentTokenSeconds, left) : expiresIn;
    if (ttlSeconds > Math.min(left, maxAgentTokenSeconds) || ttlSeconds < 1) throw tooLong(Math.min(left, maxAgentTokenSeconds));
    return await issueAccessToken(deps, call, {
      ...credential,
      scopes: [chat],
      admin: false,
      ttlSeconds,
      agentId: checkId(agentId, 'agent_id'),
      endsAt,
      parent,
      provenAt,
    });
  },
});

function tooLong(maxSeconds: number): ServiceError {
  const message = `expires_in must be from 1 to ${Math.max(1, maxSeconds)}: the token cannot outlive the credential that it is made with.`;
  return new ServiceError('invalid_request', { message, param: 'expires_in' });
}

interface Bearer {
  readonly id: string;
  readonly organizationId: string;
  readonly environment: Environment;
  readonly userId: string;
  readonly scopes: string[];
  readonly admin: boolean;
  /** Null stands for the service's default. */
  readonly ttlSeconds: number | null;
  /** Binds the token to this agent. */
  readonly agentId?: string;
  /** When the credential was read, or a moment before. A rotation after it refuses the token, however long that waits for its signature. */
  readonly provenAt: number;
  /** The latest end of the token, in seconds since 1970: it may wait for its signature. */
  readonly endsAt?: number;
  /** The token that it is made with. */
  readonly parent?: ParentToken | undefined;
}

interface IssuedToken {
  readonly accessToken: string;
  readonly expiresIn: number;
  readonly expiresAt: string;
}

/** Signs a token for a credential and records that it was issued. An organization that requests many delays only itself. */
const issueAccessToken = (deps: IdentityDeps, call: Call, bearer: Bearer): Promise<IssuedToken> =>
  deps.tokenLimiter.run(bearer.organizationId, () => signAndRecord(deps, call, bearer), call.signal);

async function signAndRecord(deps: IdentityDeps, call: Call, bearer: Bearer): Promise<IssuedToken> {
  const { id, organizationId, environment, userId, scopes, agentId } = bearer;
  const { jti, ...token } = await signToken(deps, bearer);
  await deps.store.transaction(({ sql }) =>
    writeAudit(sql, call, {
      action: 'token.issued',
      organizationId,
      environment,
      target: { type: 'token', id: jti },
      actor: { type: 'user', id: userId, keyId: id },
      changes: { scopes, expires_in: token.expiresIn, ...(agentId !== undefined && { agent_id: agentId }) },
    }),
  );
  deps.auditRelay.nudge();
  // A session notes its uses by itself.
  if (!isSessionId(id)) deps.uses.record({ credentialId: id, organizationId });
  return token;
}

export async function signToken(
  { signingKeys, tokenTtlSeconds }: Pick<IdentityDeps, 'signingKeys' | 'tokenTtlSeconds'>,
  { id, organizationId, environment, userId, scopes, admin, ttlSeconds, agentId, provenAt, endsAt, parent }: Bearer,
): Promise<IssuedToken & { readonly jti: string }> {
  const signedAt = Math.floor(processClock.now() / 1_000);
  const expiresIn = Math.min(ttlSeconds ?? tokenTtlSeconds, (endsAt ?? Number.POSITIVE_INFINITY) - signedAt);
  if (expiresIn < 1) throw new ServiceError('token_expired');
  const jti = randomUUID();
  const accessToken = await signingKeys.sign({
    iss: signingKeys.issuer,
    sub: userId,
    org: organizationId,
    env: environment,
    key_id: id,
    scope: scopes.join(' '),
    admin,
    jti,
    iat: Math.floor(provenAt / 1_000),
    exp: signedAt + expiresIn,
    ...(agentId !== undefined && { agent_id: agentId }),
    ...(parent && { parent_iat: parent.issuedAt, parent_kid: parent.kid }),
  });
  return { jti, accessToken, expiresIn, expiresAt: new Date((signedAt + expiresIn) * 1_000).toISOString() };
}

export const listSigningKeys = ({ signingKeys }: IdentityDeps): RpcOf<'identity', 'listSigningKeys'> => ({
  allow: services('gateway'),
  async handle() {
    return { keys: await signingKeys.publicKeys() };
  },
});

/** A second rotation before the new key signs is the same rotation, and is in the audit log as well. */
export const rotateSigningKey = ({ store, signingKeys, auditRelay }: IdentityDeps): RpcOf<'identity', 'rotateSigningKey'> => ({
  allow: operators,
  async handle(_request, call) {
    const { kid, isNew } = await signingKeys.rotate(call);
    if (!isNew) await store.transaction(({ sql }) => writeAudit(sql, call, rotationEntry(kid)));
    auditRelay.nudge();
    return { kid };
  },
});

/** Revokes a signing key and answers when its tokens are refused everywhere. A second revocation changes nothing and succeeds. */
export const revokeSigningKey = ({
  store,
  signingKeys,
  auditRelay,
  waitForRevocation,
}: IdentityDeps): RpcOf<'identity', 'revokeSigningKey'> => ({
  allow: operators,
  async handle({ kid }, call) {
    if (!(await signingKeys.exists(kid))) throw new ServiceError('not_found', { message: 'There is no such signing key.', param: 'kid' });
    // Before the revocation, so that there is always a key that signs.
    const signingKid = await signingKeys.replace(kid, call);
    const revoked = await store.transaction(async ({ sql }) => {
      const row = await revokeSigningKeyRow(sql, kid);
      const target = { type: 'signing_key', id: kid };
      const changes = { signing_kid: signingKid, ...(row && row.formerKids.length > 0 && { former_kids: row.formerKids }) };
      if (row?.isNew)
        await writeAudit(sql, call, { action: 'signing_key.revoked', organizationId: serviceChain, environment: '', target, changes });
      return row;
    });
    auditRelay.nudge();
    await waitForRevocation(revoked?.revokedForMs ?? 0);
    return { signingKid };
  },
});
