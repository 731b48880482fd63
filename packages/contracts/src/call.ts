import type { ServerUnaryCall } from '@grpc/grpc-js';
import type { CallContext, IdempotencyKey } from './call-context.ts';
import type { Caller, Principal } from './principal.ts';
import { ServiceError } from './service-error.ts';

const longestMs = 30_000;

/** One call as a handler sees it. */
export class Call implements CallContext {
  readonly caller: Caller;
  readonly requestId: string;
  readonly deadlineMs: number;
  /** Only for the handler itself: what it calls in turn is another effect with an id of its own. */
  readonly requestedOnce: IdempotencyKey | undefined;
  /** The stored outcome of an earlier identical request was returned. */
  replayed = false;
  readonly #grpc: ServerUnaryCall<unknown, unknown>;
  #abort: AbortController | undefined;

  constructor(grpc: ServerUnaryCall<unknown, unknown>, caller: Caller, requestId: string, requestedOnce: IdempotencyKey | undefined) {
    this.#grpc = grpc;
    this.caller = caller;
    this.requestId = requestId;
    this.requestedOnce = requestedOnce;
    this.deadlineMs = Math.min(Number(grpc.getDeadline()), Date.now() + longestMs);
  }

  get principal(): Principal | undefined {
    return this.caller.principal;
  }

  /** The tenant and user this call acts for; a call without one is a mistake of ours. */
  get tenant(): Principal {
    if (!this.caller.principal) throw new ServiceError('internal', { cause: new Error('the call carries no principal') });
    return this.caller.principal;
  }

  /** Aborted when the caller went away. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      this.#grpc.on('cancelled', () => this.#abort?.abort());
    }
    return this.#abort.signal;
  }
}
