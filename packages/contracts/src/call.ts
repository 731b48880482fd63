import type { ServerUnaryCall } from '@grpc/grpc-js';
import type { CallContext, IdempotencyKey } from './call-context.ts';
import type { Caller, Principal } from './principal.ts';
import { ServiceError } from './service-error.ts';
import { headers, text } from './wire.ts';

const longestMs = 30_000;
/** Clocks of two machines differ a little. */
const clockToleranceMs = 500;

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
    const sent = Number(text(grpc.metadata, headers.deadline) ?? Number.POSITIVE_INFINITY);
    this.deadlineMs = Math.min(sent, Number(grpc.getDeadline()), Date.now() + longestMs);
  }

  /** Throws when the caller has been told that this took too long: what it was refused must not happen later. */
  checkDeadline(): void {
    if (Date.now() > this.deadlineMs + clockToleranceMs) throw new ServiceError('deadline_exceeded');
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
