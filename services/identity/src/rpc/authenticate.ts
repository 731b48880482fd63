import { type Principal, type RpcOf, services } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import type { IdentityDeps } from '../deps.ts';
import { isSessionId, sessionCredential, sessionsById } from '../portal/store/sessions.ts';
import { credentialsById, keysByHash } from '../store/credentials.ts';
import type { TokenVerdict } from '../tokens/signing-keys.ts';

interface Authenticated {
  principal: Omit<Principal, 'scopes'> & { scopes: string[] };
  expiresAtMs: number;
  expiresInMs?: number;
}

type Verified = Extract<TokenVerdict, { claims: unknown }>;
type Verdict = Authenticated | { refusal: 'invalid_token' | 'token_expired' | 'token_revoked' };

const isApiKey = (token: string) => token.startsWith('sa_');

/** Authenticates a batch of tokens with one look-up of keys by hash and one of the credentials of access tokens. */
export const authenticate = ({ store, keyedHash, formerHashes, signingKeys, uses }: IdentityDeps): RpcOf<'identity', 'authenticate'> => {
  async function authenticateKeys(tokens: readonly string[], verdicts: Map<string, Verdict>): Promise<void> {
    const hashes = new Map(tokens.flatMap((token) => keyedHash.accepted(token).map((hash) => [hash, token])));
    for (const key of await keysByHash(store.sql, [...hashes.keys()])) {
      const token = hashes.get(key.hash) as string;
      formerHashes.record({ credentialId: key.id, former: key.hash, present: keyedHash(token) });
      verdicts.set(token, key.revoked ? { refusal: 'token_revoked' } : fromKey(key));
    }
  }

  async function authenticateAccessTokens(tokens: readonly string[], agentTokens: boolean, verdicts: Map<string, Verdict>): Promise<void> {
    const verified = new Map<string, Verified>();
    for (const [index, verdict] of (await signingKeys.verifyAll(tokens)).entries()) {
      const token = tokens[index] as string;
      if (!('claims' in verdict)) verdicts.set(token, verdict);
      else if (verdict.claims.agent_id === undefined || agentTokens) verified.set(token, verdict);
    }
    const ids = [...new Set([...verified.values()].map(({ claims }) => claims.key_id))];
    const [credentials, sessions] = await Promise.all([
      credentialsById(
        store.sql,
        ids.filter((id) => !isSessionId(id)),
      ),
      sessionsById(store.sql, ids.filter(isSessionId)),
    ]);
    const credentialOf = new Map(credentials.map((credential) => [credential.id, credential]));
    const sessionOf = new Map(sessions.map((session) => [session.id, session]));
    for (const [token, each] of verified) {
      const { claims } = each;
      const session = sessionOf.get(claims.key_id);
      verdicts.set(token, fromClaims(each, session ? sessionCredential(session, claims.env) : credentialOf.get(claims.key_id)));
    }
  }

  return {
    // agents asks whose token the portal brings.
    allow: services('gateway', 'agents'),
    async handle({ tokens, agentTokens }) {
      const verdicts = new Map<string, Verdict>();
      const distinct = [...new Set(tokens)];
      await Promise.all([
        authenticateKeys(distinct.filter(isApiKey), verdicts),
        authenticateAccessTokens(
          distinct.filter((token) => !isApiKey(token)),
          agentTokens,
          verdicts,
        ),
      ]);
      // A session notes its uses by itself.
      for (const verdict of verdicts.values())
        if ('principal' in verdict && !isSessionId(verdict.principal.credentialId)) uses.record(verdict.principal);
      return { results: tokens.map((token) => verdicts.get(token) ?? { refusal: 'invalid_token' }) };
    },
  };
};

type CredentialRow = Awaited<ReturnType<typeof credentialsById>>[number];

function fromKey({ organizationId, environment, userId, id, scopes, admin, role, endsInMs }: CredentialRow): Authenticated {
  const principal = { organizationId, environment, userId, credentialId: id, scopes, admin, role };
  if (endsInMs === null) return { principal, expiresAtMs: 0 };
  return { principal, expiresAtMs: Math.round(processClock.now() + endsInMs), expiresInMs: Math.round(endsInMs) };
}

/**
 * A token is valid while its user, organization and environment are those of the credential, and while the token that it was made with would
 * be valid. Its rights are limited to the present rights of the credential.
 */
function fromClaims({ claims, kid }: Verified, credential: Omit<CredentialRow, 'hash' | 'previousHash'> | undefined): Verdict {
  // The signature is genuine, so the credential existed: a session that has ended leaves no row.
  if (!credential) return { refusal: 'token_revoked' };
  const isSame = credential.organizationId === claims.org && credential.environment === claims.env && credential.userId === claims.sub;
  if (!isSame) return { refusal: 'invalid_token' };
  if (credential.revoked || (claims.parent_iat ?? claims.iat) < (credential.tokensSince ?? 0)) return { refusal: 'token_revoked' };
  const tokenEndsInMs = claims.exp * 1_000 - processClock.now();
  const expiresInMs = Math.round(Math.min(tokenEndsInMs, credential.endsInMs ?? tokenEndsInMs));
  return {
    principal: {
      organizationId: claims.org,
      environment: claims.env,
      userId: claims.sub,
      credentialId: claims.key_id,
      scopes: claims.scope.split(' ').filter((scope) => credential.scopes.includes(scope)),
      admin: claims.admin && credential.admin,
      role: credential.role,
      ...(claims.agent_id === undefined
        ? { tokenIssuedAt: String(claims.iat), tokenKid: kid }
        : { agentId: claims.agent_id, tokenId: claims.jti }),
      tokenEndsAt: String(claims.exp),
    },
    expiresAtMs: Math.round(processClock.now() + expiresInMs),
    expiresInMs,
  };
}
