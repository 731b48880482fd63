import {
  allScopes,
  type Environment,
  isScope,
  type Principal,
  type Role,
  type Scope,
  ServiceError,
  scopesOfRole,
} from '@agent-service/contracts';
import { isEmailAddress } from '@agent-service/contracts/text';
import { grantCredentialScopes } from '../domain/grants.ts';

// Input of operators is validated here, because it does not pass the gateway.
function checkScopes(scopes: readonly string[]): Scope[] {
  const unknown = scopes.filter((scope) => !isScope(scope));
  if (unknown.length > 0) throw new ServiceError('invalid_scope', { message: `Unknown scopes: ${unknown.join(' ')}`, param: 'scopes' });
  return scopes.filter(isScope);
}

const reasons = {
  caller: 'Your own credential lacks scopes that you wanted to grant',
  role: 'The role of the user or the environment excludes these scopes',
};

type Granter = Pick<Principal, 'scopes' | 'environment'>;

/** The scopes that this caller gives to a credential of a user with this role; undefined stands for all there are. */
export function grantScopesOf(requested: readonly string[] | undefined, caller: Granter, role: Role | ''): readonly Scope[] {
  const limits = { caller: caller.scopes, role: scopesOfRole({ role, environment: caller.environment }) };
  const grant = grantCredentialScopes(requested && checkScopes(requested), limits);
  if ('granted' in grant) return grant.granted.filter(isScope);
  throw new ServiceError('invalid_scope', {
    message: `${reasons[grant.limit]}: ${grant.refused.slice(0, 20).join(' ')}`,
    param: 'scopes',
  });
}

/** An operator grants what the role and the environment allow; no names stand for all of it. */
export const grantByOperator = (requested: readonly string[], environment: Environment, role: Role | ''): readonly Scope[] =>
  grantScopesOf(requested.length > 0 ? requested : undefined, { scopes: allScopes, environment }, role);

export function checkAdminFlag(admin: boolean, role: Role): void {
  if (!admin || role === 'admin') return;
  const message = 'Only a key of an administrator can be an administrator key: the user has the role member.';
  throw new ServiceError('invalid_request', { message, param: 'admin' });
}

/** A new secret leads to all that its credential may do, so only a caller who may do the same gets one. */
export function requireScopes(scopes: readonly string[], caller: Principal): void {
  const lacking = scopes.filter((scope) => !caller.scopes.includes(scope));
  if (lacking.length === 0) return;
  throw new ServiceError('insufficient_scope', {
    message: `Your own credential lacks scopes of the one that you wanted to rotate: ${lacking.join(' ')}`,
    details: { required: lacking, granted: caller.scopes },
  });
}

const maxOverlapSeconds = 7 * 86_400;

/** How long a replaced secret stays valid. */
export function checkOverlap(seconds: number): number {
  if (seconds >= 0 && seconds <= maxOverlapSeconds) return seconds;
  const message = `The replaced secret can stay valid for 0 to ${maxOverlapSeconds} seconds.`;
  throw new ServiceError('invalid_request', { message, param: 'previous_valid_seconds' });
}

export function checkStatusFilter(status: string): '' | 'active' | 'ended' {
  if (status === '' || status === 'active' || status === 'ended') return status;
  throw new ServiceError('invalid_request', { message: 'The status must be active or ended.', param: 'status' });
}

/** Null for 0, which stands for the service's default. */
export function checkTtl(seconds: number): number | null {
  if (seconds === 0) return null;
  if (seconds >= 300 && seconds <= 86_400) return seconds;
  throw new ServiceError('invalid_request', { message: 'The token lifetime must be 300 to 86400 seconds.', param: 'token_ttl_seconds' });
}

export function checkName(name: string): string {
  const length = [...name].length;
  if (length >= 1 && length <= 100) return name;
  throw new ServiceError('invalid_request', { message: 'The name must have 1 to 100 characters.', param: 'name' });
}

export function checkEmail(email: string): string {
  if (isEmailAddress(email)) return email;
  throw new ServiceError('invalid_request', { message: 'The e-mail address is not valid.', param: 'email' });
}

export function checkRole(role: string): Role {
  if (role === 'admin' || role === 'member') return role;
  throw new ServiceError('invalid_request', { message: 'The role must be admin or member.', param: 'role' });
}
