import { type Principal, ServiceError } from '@agent-service/contracts';

export type Refusal = 'invalid_token' | 'token_expired' | 'token_revoked';

/** What identity says about a token, and when it ends by itself by the monotonic clock (infinity where it does not). */
export type Verdict = { readonly principal: Principal; readonly endsAt: number } | { readonly refusal: Refusal };

/** The principal, as long as the token has not come to its own end. */
export function accept(verdict: Verdict, now: number): Principal {
  if ('refusal' in verdict) throw new ServiceError(verdict.refusal);
  if (verdict.endsAt <= now) throw new ServiceError('token_expired');
  return verdict.principal;
}

/** The verdict with the principal object of the one before where nothing changed: what is remembered by object, as signatures are, stays good. */
export function keepPrincipal(verdict: Verdict, before: Verdict | undefined): Verdict {
  if (!before || 'refusal' in before || 'refusal' in verdict || !isSame(before.principal, verdict.principal)) return verdict;
  return { principal: before.principal, endsAt: verdict.endsAt };
}

function isSame(a: Principal, b: Principal): boolean {
  return (
    a.credentialId === b.credentialId &&
    a.organizationId === b.organizationId &&
    a.environment === b.environment &&
    a.userId === b.userId &&
    a.admin === b.admin &&
    a.role === b.role &&
    a.scopes.length === b.scopes.length &&
    a.scopes.every((scope, index) => scope === b.scopes[index])
  );
}
