/** What an access token says. */
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

const texts = ['iss', 'sub', 'org', 'key_id', 'scope', 'jti'] as const;

/** Whether a verified payload has every claim in its form; one that lacks any was not made here. */
export function isClaims(payload: unknown): payload is Claims {
  if (typeof payload !== 'object' || payload === null) return false;
  const claims = payload as Record<string, unknown>;
  return (
    texts.every((name) => typeof claims[name] === 'string') &&
    (claims.env === 'live' || claims.env === 'test') &&
    typeof claims.admin === 'boolean' &&
    Number.isInteger(claims.iat) &&
    Number.isInteger(claims.exp)
  );
}
