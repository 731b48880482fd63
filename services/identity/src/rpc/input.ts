import { isScope, type Scope, ServiceError } from '@agent-service/contracts';
import { z } from 'zod';
import type { Role } from '../domain/user-rules.ts';

const longestEmail = 254;

// Input of operators is validated here, because it does not pass the gateway.
export function checkScopes(scopes: readonly string[]): Scope[] {
  const unknown = scopes.filter((scope) => !isScope(scope));
  if (unknown.length > 0) throw new ServiceError('invalid_scope', { message: `Unknown scopes: ${unknown.join(' ')}`, param: 'scopes' });
  return scopes.filter(isScope);
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
  if (email.length <= longestEmail && z.email().safeParse(email).success) return email;
  throw new ServiceError('invalid_request', { message: 'The e-mail address is not valid.', param: 'email' });
}

export function checkRole(role: string): Role {
  if (role === 'admin' || role === 'member') return role;
  throw new ServiceError('invalid_request', { message: 'The role must be admin or member.', param: 'role' });
}
