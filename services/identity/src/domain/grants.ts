interface Limits {
  /** The scopes of the caller who creates or changes the credential. */
  readonly caller: readonly string[];
  /** Every scope that the role of the user and the environment allow. */
  readonly role: readonly string[];
}

type CredentialGrant = { readonly granted: string[] } | { readonly refused: string[]; readonly limit: 'caller' | 'role' };

/**
 * The scopes of a credential: those requested, or, for undefined, all within both limits. A caller grants no scope that it lacks itself,
 * so that no credential leads to a stronger one.
 */
export function grantCredentialScopes(requested: readonly string[] | undefined, { caller, role }: Limits): CredentialGrant {
  if (requested === undefined) return { granted: caller.filter((scope) => role.includes(scope)) };
  const distinct = [...new Set(requested)];
  const beyondCaller = distinct.filter((scope) => !caller.includes(scope));
  if (beyondCaller.length > 0) return { refused: beyondCaller, limit: 'caller' };
  const beyondRole = distinct.filter((scope) => !role.includes(scope));
  return beyondRole.length > 0 ? { refused: beyondRole, limit: 'role' } : { granted: distinct };
}

type TokenGrant = { readonly granted: string[] } | { readonly refused: string[] };

/** The scopes of a token: all of its credential, or exactly the requested ones. No scope is dropped silently. */
export function grantTokenScopes(available: readonly string[], requested: string): TokenGrant {
  const scopes = [...new Set(requested.split(' ').filter(Boolean))];
  if (scopes.length === 0) return { granted: [...available] };
  const refused = scopes.filter((scope) => !available.includes(scope));
  return refused.length > 0 ? { refused } : { granted: scopes };
}
