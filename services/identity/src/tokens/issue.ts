import { randomUUID } from 'node:crypto';
import type { Call } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { writeAudit } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';

interface Bearer {
  id: string;
  organizationId: string;
  environment: 'live' | 'test';
  userId: string;
  scopes: string[];
  admin: boolean;
  ttlSeconds: number | null;
}

export interface IssuedToken {
  accessToken: string;
  expiresIn: number;
  expiresAt: string;
}

/** Signs a token for a credential and records that it was issued; an organization that asks for many waits for itself. */
export const issueAccessToken = (context: IdentityContext, call: Call, bearer: Bearer): Promise<IssuedToken> =>
  context.tokenLimiter.run(bearer.organizationId, () => issue(context, call, bearer), call.signal);

async function issue(
  { store, signingKeys, auditRelay, tokenTtlSeconds }: IdentityContext,
  call: Call,
  bearer: Bearer,
): Promise<IssuedToken> {
  const expiresIn = bearer.ttlSeconds ?? tokenTtlSeconds;
  const issuedAt = Math.floor(processClock.now() / 1_000);
  const jti = randomUUID();
  const accessToken = await signingKeys.sign({
    iss: signingKeys.issuer,
    sub: bearer.userId,
    org: bearer.organizationId,
    env: bearer.environment,
    key_id: bearer.id,
    scope: bearer.scopes.join(' '),
    admin: bearer.admin,
    jti,
    iat: issuedAt,
    exp: issuedAt + expiresIn,
  });
  await store.transaction(({ sql }) =>
    writeAudit(sql, call, {
      action: 'token.issued',
      organizationId: bearer.organizationId,
      environment: bearer.environment,
      target: { type: 'token', id: jti },
      actor: { type: 'user', id: bearer.userId, keyId: bearer.id },
      changes: { scopes: bearer.scopes, expires_in: expiresIn },
    }),
  );
  auditRelay.nudge();
  return { accessToken, expiresIn, expiresAt: new Date((issuedAt + expiresIn) * 1_000).toISOString() };
}
