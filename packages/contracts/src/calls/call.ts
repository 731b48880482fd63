import type { IncomingCall } from '../call-stream/server.ts';
import type { Policy } from '../callers/policy.ts';
import type { Caller, Principal, Tenant } from '../callers/principal.ts';
import type { Messages, MethodsOf, ServiceName } from '../catalogue.ts';
import { ServiceError } from '../errors/service-error.ts';
import { type CallContext, type IdempotencyKey, requirePrincipal } from './call-context.ts';

const maxTimeMs = 30_000;

interface ReceivedCall {
  readonly caller: Caller;
  readonly requestId: string;
  readonly voucher: string | undefined;
  /** How long the call was under way before this process read it. */
  readonly ageMs: number;
  readonly requestedOnce: IdempotencyKey | undefined;
}

/** One call as a handler sees it. */
export class Call implements CallContext {
  readonly caller: Caller;
  readonly requestId: string;
  readonly voucher: string | undefined;
  readonly expiresAt: number;
  /** Only for the handler itself: what it calls in turn is another effect with an id of its own. */
  readonly requestedOnce: IdempotencyKey | undefined;
  /** The stored outcome of an earlier identical request was returned. */
  replayed = false;
  readonly #grpc: IncomingCall<unknown>;
  #abort: AbortController | undefined;

  constructor(grpc: IncomingCall<unknown>, { caller, requestId, voucher, ageMs, requestedOnce }: ReceivedCall) {
    this.#grpc = grpc;
    this.caller = caller;
    this.requestId = requestId;
    this.voucher = voucher;
    this.requestedOnce = requestedOnce;
    const leftMs = Number(grpc.getDeadline()) - Date.now() - ageMs;
    this.expiresAt = performance.now() + Math.min(leftMs, maxTimeMs);
  }

  /** Throws when the caller has stopped waiting: it was told that the call failed, or another replica has done it, so it must have no effect afterwards. */
  checkDeadline(): void {
    if (this.#grpc.cancelled) throw new ServiceError('cancelled');
    if (performance.now() > this.expiresAt) throw new ServiceError('deadline_exceeded');
  }

  get principal(): Principal | undefined {
    return this.caller.principal;
  }

  /** Aborted when the caller went away. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      this.#grpc.on('cancelled', () => this.#abort?.abort());
      if (this.#grpc.cancelled) this.#abort.abort();
    }
    return this.#abort.signal;
  }
}

/** The tenant of a call, without its user and credential. */
export function tenantOf(call: Pick<CallContext, 'principal'>): Tenant {
  const { organizationId, environment } = requirePrincipal(call);
  return { organizationId, environment };
}

/** One method on the server's side: who may call it, and what it does. */
export interface Rpc<In, Out> {
  readonly allow: Policy;
  /** For a call that its callers repeat without end. Without it reads are logged at the level debug, as they appear in the event of their request, and others at info. */
  readonly logLevel?: 'debug';
  readonly handle: (request: In, call: Call) => Promise<Out>;
}

/** The handlers of a server: every method of the proto. */
export type Implementation<Name extends ServiceName> = {
  [Method in keyof MethodsOf<Name> as Uncapitalize<Method & string>]: Rpc<
    Messages<MethodsOf<Name>[Method]>['received'],
    Messages<MethodsOf<Name>[Method]>['returned']
  >;
};

/** The type of one method of a service, for the file that implements it. */
export type RpcOf<Name extends ServiceName, Method extends keyof Implementation<Name>> = Implementation<Name>[Method];
