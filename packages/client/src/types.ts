import type { paths } from './gen/api.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

interface AnyOperation {
  readonly responses: Record<number, unknown>;
}

/** The paths of the API that have this method. */
export type PathOf<M extends Method> = { [P in keyof paths]: paths[P][M] extends AnyOperation ? P : never }[keyof paths];

type OperationOf<P extends keyof paths, M extends Method> = paths[P][M];

type Parameters<O, In extends string> = O extends { parameters: infer All }
  ? In extends keyof All
    ? Exclude<All[In], undefined>
    : never
  : never;

/** A field that the caller has to pass where the operation has it, and may leave out where all of it is optional. */
type Field<Name extends string, Value> = [Value] extends [never]
  ? unknown
  : Partial<Value> extends Value
    ? { [N in Name]?: Value }
    : { [N in Name]: Value };

type Json<Content> = Content extends { content: { 'application/json': infer Body } } ? Body : never;
type Form<Content> = Content extends { content: { 'application/x-www-form-urlencoded': infer Body } } ? Body : never;
type RequestBody<O> = O extends { requestBody?: infer Content } ? Json<Exclude<Content, undefined>> : never;
type BodyField<O> = O extends { requestBody: infer Content }
  ? [Form<Content>] extends [never]
    ? { body: Json<Content> }
    : { form: Form<Content> }
  : Field<'body', Partial<RequestBody<O>>>;

/** The options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Headers of the operation, such as `If-Match` and `Prefer`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Made at random for each POST, PUT and PATCH unless given. Give one that is stored with the order that the call carries out. */
  readonly idempotencyKey?: string;
  /** The longest wait for an answer, for each attempt. */
  readonly timeoutMs?: number;
  /** Attempts after the first one. */
  readonly maxRetries?: number;
}

/** The parameters and the body of an operation. */
export type RequestOptions<P extends keyof paths, M extends Method> = CallOptions &
  Field<'path', Parameters<OperationOf<P, M>, 'path'>> &
  Field<'query', Parameters<OperationOf<P, M>, 'query'>> &
  BodyField<OperationOf<P, M>>;

type Success<R> = { [S in keyof R]: S extends 200 | 201 | 202 ? Json<R[S]> : S extends 204 ? undefined : never }[keyof R];

/** The body of an operation's success; undefined for 204. */
export type ResponseBody<P extends keyof paths, M extends Method> = OperationOf<P, M> extends { responses: infer R } ? Success<R> : never;

/** The second argument may be left out where nothing in it is required. */
export type RequestArguments<P extends keyof paths, M extends Method> =
  Record<never, never> extends RequestOptions<P, M> ? [options?: RequestOptions<P, M>] : [options: RequestOptions<P, M>];

/** An answer with what stands beside its body. */
export interface ApiResponse<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
  /** True where this is the outcome of an earlier request with the same Idempotency-Key. */
  readonly replayed: boolean;
}
