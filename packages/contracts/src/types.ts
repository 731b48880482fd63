import type { MethodDefinition } from '@grpc/proto-loader';
import type { Call } from './call.ts';
import type { ServiceName, Services } from './catalogue.ts';
import type { Policy } from './policy.ts';

/** The methods of a definition generated from the protos, without its index signature. */
type Methods<Definition> = { [Method in keyof Definition as string extends Method ? never : Method]: Definition[Method] };

type Sent<Method> = Method extends MethodDefinition<infer In, infer _Out, infer _InOut, infer _OutOut> ? In : never;
type Received<Method> = Method extends MethodDefinition<infer _In, infer _Out, infer In, infer _OutOut> ? In : never;
type Returned<Method> = Method extends MethodDefinition<infer _In, infer Out, infer _InOut, infer _OutOut> ? Out : never;
type Answered<Method> = Method extends MethodDefinition<infer _In, infer _Out, infer _InOut, infer Out> ? Out : never;

export interface CallOptions {
  /** The most this call may take; the inherited deadline still counts. */
  timeoutMs?: number;
}

/** The methods of a client: the request as it is sent, the response as it is received. */
export type Client<Name extends ServiceName> = {
  [Method in keyof Methods<Services[Name]> as Uncapitalize<Method & string>]: (
    request: Sent<Services[Name][Method]>,
    options?: CallOptions,
  ) => Promise<Answered<Services[Name][Method]>>;
} & {
  /** Rejects unless the service answers that it is serving. */
  checkHealth(): Promise<void>;
  close(): void;
};

/** One method on the server's side: who may call it, and what it does. */
export interface Rpc<In, Out> {
  readonly allow: Policy;
  readonly handle: (request: In, call: Call) => Promise<Out>;
}

/** The handlers of a server: every method of the proto. */
export type Implementation<Name extends ServiceName> = {
  [Method in keyof Methods<Services[Name]> as Uncapitalize<Method & string>]: Rpc<
    Received<Services[Name][Method]>,
    Returned<Services[Name][Method]>
  >;
};

/** The type of one method of a service, for the file that implements it. */
export type RpcOf<Name extends ServiceName, Method extends keyof Implementation<Name>> = Implementation<Name>[Method];
