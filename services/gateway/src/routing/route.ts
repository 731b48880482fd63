import type { CallContext, Client, PublicErrorCode, Scope } from '@agent-service/contracts';
import type { Method } from '@agent-service/http/app';
import type { Stream } from '@agent-service/http/replies/reply';
import { type BodyLimits, bodyLimits } from '@agent-service/http/requests/body';
import type { z } from 'zod';
import type { Answers } from '../answers/answers.ts';
import type { PublishedKey } from '../auth/published-keys.ts';
import type { CallerLimits, Cost } from '../limits/rules.ts';
import type { Deprecation } from './deprecation.ts';

/** The caller's input, as parsed by the schemas of the route. */
export interface RouteInput<Params = unknown, Query = unknown, Body = unknown, Headers = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly headers: Headers;
  readonly requestId: string;
}

/** A request that has passed every check. */
export interface RouteRequest<Params = unknown, Query = unknown, Body = unknown, Headers = unknown>
  extends RouteInput<Params, Query, Body, Headers> {
  /** Inherited by the calls to other services. */
  readonly call: CallContext;
  /** Aborted when the client disconnects. */
  readonly disconnected: () => AbortSignal;
}

/** The request before its body is validated. */
export interface RawRequest {
  readonly body: unknown;
  readonly authorization: string | undefined;
}

/** Headers that only some successes carry. */
export type HeaderName = 'ETag' | 'Location' | 'Content-Location' | 'Preference-Applied' | 'Retry-After';

/** A further success of a route, as the OpenAPI document describes it. */
export interface OtherSuccess {
  readonly status: number;
  readonly description: string;
  readonly type?: string;
  readonly schema?: z.ZodType;
  /** The parts of the body that differ in its example from the examples of the schema; an undefined one is left out. */
  readonly example?: unknown;
  readonly headers?: readonly HeaderName[];
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
  /** True if agent tokens may use the route too, for the agent in the path. */
  readonly agentTokens?: boolean;
  /** False where a repeated POST is a new effect. */
  readonly idempotent?: boolean;
  /** Which limit the request counts against; without one it is not limited. */
  readonly cost?: Cost;
  readonly bodyType?: 'json' | 'form';
  /** Limits of a body that is larger than a few fields. */
  readonly bodyLimits?: BodyLimits;
  /** A missing body counts as an empty one. */
  readonly bodyOptional?: boolean;
  /** The body of a success, and its status: 200 unless said. A route without a response replies with no body. */
  readonly status?: 200 | 201 | 204;
  /** The content type of the response where it is not JSON. */
  readonly responseType?: 'text/event-stream';
  /** As `example` of another success. */
  readonly responseExample?: unknown;
  readonly cacheControl?: string;
  /** Headers that a success carries here beyond those of every reply. */
  readonly successHeaders?: readonly HeaderName[];
  readonly otherSuccesses?: readonly OtherSuccess[];
  /** Codes of this route beyond those of every route. */
  readonly errors?: readonly PublicErrorCode[];
  /** The form of error bodies; `oauth` is the flat form of RFC 6749. */
  readonly errorForm?: 'envelope' | 'oauth';
  /** Callers should use something else; replies say so, and until when this stays. */
  readonly deprecation?: Deprecation;
  /** Goes beyond the specification. */
  readonly extension?: boolean;
  /** The credential a token request is counted by. */
  readonly credential?: (body: unknown) => string | undefined;
  /** Completes or refuses the body before its fields are validated. */
  readonly prepare?: (request: RawRequest) => unknown;
}

type Schema = z.ZodType | undefined;
type Output<S extends Schema> = S extends z.ZodType ? z.output<S> : undefined;
type ResponseBody<S extends Schema> = S extends z.ZodType ? z.input<S> : undefined;

interface Definition<P extends Schema, Q extends Schema, B extends Schema, R extends Schema, H extends Schema> extends Description {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** The request headers that the route reads, under their documented names. */
  readonly headers?: H;
  readonly response?: R;
  readonly handler: (
    request: RouteRequest<Output<P>, Output<Q>, Output<B>, Output<H>>,
    backends: Backends,
  ) => Promise<ResponseBody<R> | RouteReply<ResponseBody<R>>>;
}

/** A route as an entry of the table. */
export interface Route extends Description {
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly response?: z.ZodType;
  readonly handler: (request: RouteRequest, backends: Backends) => Promise<unknown>;
}

/** Declares a route: one place that validates, types and documents it. */
export function route<
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
  R extends Schema = undefined,
  H extends Schema = undefined,
>(definition: Definition<P, Q, B, R, H>): Route {
  return definition as unknown as Route;
}

/** True if the route takes an Idempotency-Key. Tokens are never replayed. */
export const isIdempotent = ({ method, cost, idempotent = true }: Route): boolean =>
  idempotent && cost !== 'token' && ['POST', 'PUT', 'PATCH'].includes(method);

/** The limits of a body before it is parsed. */
export const bodyLimitsOf = ({ cost, bodyLimits: own }: Route): BodyLimits =>
  own ?? (cost === 'token' ? bodyLimits.token : bodyLimits.usual);

export const successStatus = ({ status, response }: Route): number => status ?? (response ? 200 : 204);

/** Parts of a response beyond its body. */
interface ReplyParts {
  /** Replaces the status of the route. */
  readonly status?: number;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** Writes the response after the head, instead of a body. */
  readonly stream?: Stream;
}

/** A response that is more than a body with the route's own status. */
export class RouteReply<Body> {
  readonly body: Body | undefined;
  readonly parts: ReplyParts;

  constructor(body: Body | undefined, parts: ReplyParts) {
    this.body = body;
    this.parts = parts;
  }
}

export const reply = <Body>(body: Body, parts: ReplyParts): RouteReply<Body> => new RouteReply(body, parts);

/** A response without a body. */
export const withoutBody = (parts: ReplyParts): RouteReply<never> => new RouteReply<never>(undefined, parts);

/** The services that route handlers call. */
export interface Backends {
  readonly identity: Client<'identity'>;
  readonly credits: Client<'credits'>;
  readonly agents: Client<'agents'>;
  readonly templates: Client<'templates'>;
  /** Undefined where webhooks are off; their routes do not exist then. */
  readonly webhooks?: Client<'webhooks'>;
  /** Sends messages and waits for their answers. */
  readonly answers: Answers;
  /** The rate limits of a caller, for callers to read. */
  readonly limits: CallerLimits;
  /** The public keys that access tokens are verified with. */
  readonly publishedKeys: () => Promise<PublishedKey[]>;
}
