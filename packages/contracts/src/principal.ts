export type Environment = 'live' | 'test';
export type Role = 'admin' | 'member';

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
}

/** The sender of a gRPC call: a service, and the caller it acts for, if any. */
export interface Caller {
  readonly service: string;
  readonly principal?: Principal | undefined;
}

/** The service name under which the operator's command line calls. */
export const operatorService = 'operator';
