import type { Environment } from '@agent-service/contracts/callers/principal';

/** The claims of an access token. */
export interface Claims {
  iss: string;
  sub: string;
  org: string;
  env: Environment;
  key_id: string;
  scope: string;
  admin: boolean;
  jti: string;
  iat: number;
  exp: number;
  /** Only of an agent token: the agent that it is bound to. */
  agent_id?: string;
  /** Only of an agent token that was made with a token: when that was issued, and the id of the key that signed it. */
  parent_iat?: number;
  parent_kid?: string;
}

/**
 * The claims of an agent token as they are signed. It names its credential by a claim of its own, so that a replica which does not know
 * agent tokens refuses them instead of taking them for unbound ones.
 */
type AgentTokenClaims = Omit<Claims, 'key_id' | 'admin' | 'agent_id'> & { aud: string; parent_key_id: string };

const audiencePrefix = 'agent:';

/** The claims as they are signed. */
export function toSigned(claims: Claims): Claims | AgentTokenClaims {
  const { key_id, admin, agent_id, ...common } = claims;
  return agent_id === undefined ? claims : { ...common, aud: `${audiencePrefix}${agent_id}`, parent_key_id: key_id };
}

/** The claims of a verified payload; undefined where it is no token of ours. */
export function readClaims(payload: unknown): Claims | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined;
  const { aud, parent_key_id, ...rest } = payload as Record<string, unknown>;
  if (aud === undefined) return isClaims(payload) && !('agent_id' in payload) ? payload : undefined;
  if (typeof aud !== 'string' || !aud.startsWith(audiencePrefix)) return undefined;
  const claims = { ...rest, key_id: parent_key_id, admin: false, agent_id: aud.slice(audiencePrefix.length) };
  return isClaims(claims) && claims.agent_id !== '' && !('key_id' in rest) && hasWholeParent(rest) ? claims : undefined;
}

/** Both claims of a parent token, or none. */
const hasWholeParent = ({ parent_iat, parent_kid }: Record<string, unknown>): boolean =>
  parent_kid === undefined ? parent_iat === undefined : typeof parent_kid === 'string' && Number.isInteger(parent_iat);

const textClaims = ['iss', 'sub', 'org', 'key_id', 'scope', 'jti'] as const;

/** True if a verified payload has every claim in its form. This service signs no token without one. */
function isClaims(payload: object): payload is Claims {
  const claims = payload as Record<string, unknown>;
  return (
    textClaims.every((name) => typeof claims[name] === 'string') &&
    (claims['env'] === 'live' || claims['env'] === 'test') &&
    typeof claims['admin'] === 'boolean' &&
    Number.isInteger(claims['iat']) &&
    Number.isInteger(claims['exp'])
  );
}
