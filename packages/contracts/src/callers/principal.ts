export type Environment = 'live' | 'test';
export type Role = 'admin' | 'member';

/** One environment of one organization. */
export interface Tenant {
  readonly organizationId: string;
  readonly environment: Environment;
}

/** An authenticated caller of the public API. */
export interface Principal {
  readonly organizationId: string;
  readonly environment: Environment;
  readonly userId: string;
  /** The API key or OAuth application behind the token. */
  readonly credentialId: string;
  /** The caller's permissions: the credential's scopes, already cut to the role of its user. */
  readonly scopes: readonly string[];
  /** The administrator flag of the credential, which only counts while its user is an administrator. */
  readonly admin: boolean;
  /** Empty for an application, whose scopes are its only limit. */
  readonly role?: Role | '';
  /** The only agent that an agent token may send messages to; absent for every other caller. */
  readonly agentId?: string;
  /** The id of an agent token. */
  readonly tokenId?: string;
  /** When the token ends, in seconds since 1970 as a text; '0' for a key. */
  readonly tokenEndsAt?: string;
  /** When the token was issued, in seconds since 1970 as a text; absent for a key and for an agent token. */
  readonly tokenIssuedAt?: string;
  /** The id of the key that signed the token; present where `tokenIssuedAt` is. */
  readonly tokenKid?: string;
}

/** The sender of a gRPC call: a service, and the caller it acts for, if any. */
export interface Caller {
  readonly service: string;
  readonly principal?: Principal | undefined;
}

/** The service name under which the operator's command line calls. */
export const operatorService = 'operator';

/** Every scope there is, with what it grants. */
export const scopes = {
  'agents:read': 'list and view agents',
  'agents:write': 'create, update, delete agents',
  'agents:chat': 'send messages to agents',
  'templates:read': 'list and view templates',
  'templates:write': 'activate and deactivate templates',
  'credits:read': 'view credit balance and usage',
  'credits:write': 'allocate credits to users',
  'users:read': 'list and view user accounts',
  'users:write': 'manage user registrations and roles',
  'webhooks:read': 'list and view webhooks',
  'webhooks:write': 'create, update, delete webhooks',
  'audit:read': 'view audit log entries',
} as const;

export type Scope = keyof typeof scopes;

export const allScopes = Object.keys(scopes) as Scope[];

/** All that the role member may hold; the role admin may hold every scope. */
const memberScopes: readonly Scope[] = ['agents:read', 'agents:write', 'agents:chat', 'templates:read', 'credits:read'];

/** Users belong to the organization: a test credential must not end what is live. */
const liveOnly: readonly Scope[] = ['users:write'];

/** The owner of a credential. An application has no role: the scopes that it was given are its limit. */
interface Holder {
  readonly role?: Role | '' | undefined;
  readonly environment: Environment;
}

/** Every scope that a credential of this holder may use. */
export function scopesOfRole({ role, environment }: Holder): readonly Scope[] {
  const scopesOfUser = role === 'member' ? memberScopes : allScopes;
  return environment === 'live' ? scopesOfUser : scopesOfUser.filter((scope) => !liveOnly.includes(scope));
}

/** The part of a credential's scopes that the present role of its user allows. */
export function cutToRole(scopes: readonly string[], holder: Holder): string[] {
  const allowed: readonly string[] = scopesOfRole(holder);
  return scopes.filter((scope) => allowed.includes(scope));
}

export const isScope = (name: string): name is Scope => Object.hasOwn(scopes, name);
