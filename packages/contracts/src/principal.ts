export type Environment = 'live' | 'test';

/** An authenticated caller of the public API. */
export interface Principal {
  readonly organizationId: string;
  readonly environment: Environment;
  readonly userId: string;
  /** The API key or OAuth application behind the token. */
  readonly credentialId: string;
  readonly scopes: readonly string[];
  readonly admin: boolean;
}

/** Whoever sends a gRPC call: a service, and the caller it acts for, if any. */
export interface Caller {
  readonly service: string;
  readonly principal?: Principal | undefined;
}

/** The service name under which the operator's command line calls. */
export const operatorService = 'operator';
