import type { ErrorCode, Scope } from '@agent-service/contracts';
import type { z } from 'zod';
import type { Backends } from '../backends.ts';
import type { Cost } from '../limits/rules.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request that has passed every check. */
export interface RouteRequest<Params = unknown, Query = unknown, Body = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly requestId: string;
}

/** What is known before a body is validated. */
export interface RawRequest {
  readonly body: unknown;
  readonly authorization: string | undefined;
}

interface Description {
  readonly method: Method;
  /** As in OpenAPI: `/v1/users/{user_id}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  readonly auth: 'token' | 'none';
  readonly scope?: Scope;
  readonly admin?: boolean;
  /** Which limit the request counts against; without one it is not limited. */
  readonly cost?: Cost;
  readonly bodyType?: 'json' | 'form';
  /** The body of a success, and its status: 200 unless said. A route without a response answers with no body. */
  readonly status?: 200 | 201 | 204;
  readonly cacheControl?: string;
  /** What can go wrong here beyond what can go wrong everywhere. */
  readonly errors?: readonly ErrorCode[];
  /** How failures are written; `oauth` is RFC 6749's flat form. */
  readonly errorForm?: 'envelope' | 'oauth';
  /** Goes beyond the specification. */
  readonly extension?: boolean;
  /** The credential a token request is counted by. */
  readonly credential?: (body: unknown) => string | undefined;
  /** Completes or refuses the body before its fields are judged. */
  readonly prepare?: (request: RawRequest) => unknown;
}

type Schema = z.ZodType | undefined;
type Output<S extends Schema> = S extends z.ZodType ? z.output<S> : undefined;
type Answer<S extends Schema> = S extends z.ZodType ? z.input<S> : undefined;

interface Definition<P extends Schema, Q extends Schema, B extends Schema, R extends Schema> extends Description {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly response?: R;
  readonly handler: (request: RouteRequest<Output<P>, Output<Q>, Output<B>>, backends: Backends) => Promise<Answer<R>>;
}

/** A route as whoever iterates over the table sees it. */
export interface Route extends Description {
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly response?: z.ZodType;
  readonly handler: (request: RouteRequest, backends: Backends) => Promise<unknown>;
}

/** Declares a route: one place that validates, types and documents it. */
export function route<
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
  R extends Schema = undefined,
>(definition: Definition<P, Q, B, R>): Route {
  return definition as unknown as Route;
}

/** Whether Idempotency-Key means anything here. Tokens are never replayed. */
export const isIdempotent = ({ method, cost }: Route): boolean => cost !== 'token' && ['POST', 'PUT', 'PATCH'].includes(method);

export const successStatus = ({ status, response }: Route): number => status ?? (response ? 200 : 204);
