import { type Call, operatorService, type Principal, requirePrincipal, ServiceError } from '@agent-service/contracts';
import { once, type Sql, type Transaction } from '@agent-service/store';
import type { IdentityDeps } from '../deps.ts';
import { isSessionId, sessionCredential, sessionsById } from '../portal/store/sessions.ts';
import { type Credential, credentialsById } from '../store/credentials.ts';

export interface ParentToken {
  /** In seconds since 1970. */
  readonly issuedAt: number;
  readonly kid: string;
}

/** The token of the caller; without a parent for a key, and for a token that a gateway of the version before has authenticated. */
export function parentTokenOf({ tokenEndsAt = '0', tokenIssuedAt = '0', tokenKid = '' }: Principal) {
  return {
    endsAt: tokenEndsAt === '0' ? Number.POSITIVE_INFINITY : Number(tokenEndsAt),
    parent: tokenIssuedAt === '0' ? undefined : { issuedAt: Number(tokenIssuedAt), kid: tokenKid },
  };
}

type ParentCredential = Credential & { readonly tokensSince: number | null };

/** The gateway may have authenticated the caller a moment before a revocation, or a rotation that ended the tokens issued so far. */
export const isRevoked = ({ revoked, tokensSince }: ParentCredential, parent: ParentToken | undefined): boolean =>
  revoked || (parent !== undefined && parent.issuedAt < (tokensSince ?? 0));

/** The present state of the caller's credential; undefined for a session that has ended. */
export async function credentialOf(sql: Sql, { credentialId, environment }: Principal): Promise<ParentCredential | undefined> {
  if (!isSessionId(credentialId)) return (await credentialsById(sql, [credentialId]))[0];
  const [session] = await sessionsById(sql, [credentialId]);
  return session && sessionCredential(session, environment);
}

/**
 * Runs the effect as `once` does. Refuses a change that waited, for other changes or for locks, until the caller's credential was revoked, its
 * user demoted, or scopes were taken from it: from the response to that on, the credential leads to no new one. `changedId` is the credential
 * that the effect itself changes; the effect calls `requirePresent` once it has locked that credential.
 */
export const changeAs = <Response extends object>(
  { store }: IdentityDeps,
  call: Call,
  effect: (transaction: Transaction) => Promise<Response>,
  changedId?: string,
): Promise<Response> =>
  once(store, call, async (transaction) => {
    const response = await effect(transaction);
    // The check comes after every wait: from here to the commit takes less time than a revocation waits before it answers.
    if (call.caller.service === operatorService) return response;
    const caller = requirePrincipal(call);
    if (caller.credentialId !== changedId) await requirePresent(transaction.sql, caller);
    return response;
  });

/** Throws if the credential of the caller may do less than when the gateway authenticated it. */
export async function requirePresent(sql: Sql, principal: Principal): Promise<void> {
  const credential = await credentialOf(sql, principal);
  // Keys and applications are never removed, sessions are when they end.
  const isEnded = credential ? isRevoked(credential, parentTokenOf(principal).parent) : isSessionId(principal.credentialId);
  if (isEnded) throw new ServiceError('token_revoked');
  if (!credential) return;
  if (principal.admin && !credential.admin) throw new ServiceError('admin_required');
  const lost = principal.scopes.filter((scope) => !credential.scopes.includes(scope));
  if (lost.length > 0)
    throw new ServiceError('insufficient_scope', {
      message: `These scopes were taken from your credential while the change waited: ${lost.join(' ')}`,
      details: { required: lost, granted: credential.scopes },
    });
}
