/** The claims of an access token. */
export interface Claims {
  iss: string;
  sub: string;
  org: string;
  env: 'live' | 'test';
  key_id: string;
  scope: string;
  admin: boolean;
  jti: string;
  iat: number;
  exp: number;
}

const textClaims = ['iss', 'sub', 'org', 'key_id', 'scope', 'jti'] as const;

/** True if a verified payload has every claim in its form. This service signs no token without one. */
export function isClaims(payload: unknown): payload is Claims {
  if (typeof payload !== 'object' || payload === null) return false;
  const claims = payload as Record<string, unknown>;
  return (
    textClaims.every((name) => typeof claims[name] === 'string') &&
    (claims['env'] === 'live' || claims['env'] === 'test') &&
    typeof claims['admin'] === 'boolean' &&
    Number.isInteger(claims['iat']) &&
    Number.isInteger(claims['exp'])
  );
}

export type ScopeGrant = { granted: string[] } | { refused: string[] };

/** The scopes of a token: all of its credential, or exactly the requested ones. No scope is dropped silently. */
export function grantScopes(available: readonly string[], requested: string): ScopeGrant {
  const scopes = [...new Set(requested.split(' ').filter(Boolean))];
  if (scopes.length === 0) return { granted: [...available] };
  const refused = scopes.filter((scope) => !available.includes(scope));
  return refused.length > 0 ? { refused } : { granted: scopes };
}
