import { randomUUID } from 'node:crypto';
import { inSpan, traceHeaders } from '@agent-service/runtime';
import { type ClientUnaryCall, Client as GrpcClient, type ServiceError as GrpcError, Metadata, type MethodDefinition } from '@grpc/grpc-js';
import { context, SpanKind } from '@opentelemetry/api';
import { type CallContext, currentCall } from './call-context.ts';
import { loadService, type ServiceName, timeoutOf } from './catalogue.ts';
import { channelOptions } from './channel-options.ts';
import { clientCredentials } from './credentials.ts';
import { healthMethod } from './health-method.ts';
import { isRead, uncapitalize } from './methods.ts';
import type { Caller, Principal } from './principal.ts';
import { ServiceError } from './service-error.ts';
import type { ClientConfig } from './settings.ts';
import { type CallerSigner, createSigner } from './signed-caller.ts';
import type { CallOptions, Client } from './types.ts';
import { fromGrpcError, headers, text, writeIdempotency } from './wire.ts';

const healthTimeoutMs = 1_000;
const attemptMs = 1_000;
const furtherAttempts = 2;

export interface ClientOptions {
  /** A gRPC target: `dns:///identity:50051`, `ipv4:10.0.0.1:50051,10.0.0.2:50051`. Calls are spread over all addresses. */
  address: string;
  /** The name of the calling service. */
  as: string;
  config: ClientConfig;
}

type Method = MethodDefinition<object, object>;

/** The typed client of a service: promises, inherited deadline, request id, trace and signed caller. */
export function createClient<Name extends ServiceName>(name: Name, options: ClientOptions): Client<Name> {
  const { service } = loadService(name);
  const methods = Object.entries(service) as [string, Method][];
  const channel = new GrpcClient(options.address, clientCredentials(options.config), channelOptions(methods.map(([, method]) => method)));
  const identity = new CallerIdentity(options.as, createSigner(options.config.SERVICE_SECRET));

  const call =
    (methodName: string, method: Method) =>
    (request: object, { timeoutMs }: CallOptions = {}) =>
      unary(channel, method, request, identity, { timeoutMs: timeoutMs ?? timeoutOf(name, methodName), askAgain: timeoutMs === undefined });
  const entries = methods.map(([methodName, method]) => [uncapitalize(methodName), call(methodName, method)]);
  const client = {
    ...Object.fromEntries(entries),
    checkHealth: async () => {
      const answer = await unary(channel, healthMethod, { service: '' }, identity, { timeoutMs: healthTimeoutMs, askAgain: false });
      if ((answer as { status: string }).status !== 'SERVING') throw new ServiceError('unavailable', { message: `${name} is not serving` });
    },
    close: () => channel.close(),
  };
  return client as Client<Name>;
}

/** Remembers one caller object a principal, so that its signature can be reused. */
class CallerIdentity {
  readonly #own: Caller;
  readonly #signer: CallerSigner;
  readonly #callers = new WeakMap<Principal, Caller>();

  constructor(service: string, signer: CallerSigner) {
    this.#own = { service };
    this.#signer = signer;
  }

  signed(principal: Principal | undefined): string {
    if (!principal) return this.#signer.sign(this.#own);
    const caller = this.#callers.get(principal) ?? { service: this.#own.service, principal };
    this.#callers.set(principal, caller);
    return this.#signer.sign(caller);
  }
}

async function unary(
  channel: GrpcClient,
  method: Method,
  request: object,
  identity: CallerIdentity,
  { timeoutMs, askAgain }: { timeoutMs: number; askAgain: boolean },
): Promise<object> {
  const inherited = currentCall();
  const deadline = Math.min(Date.now() + timeoutMs, inherited?.deadlineMs ?? Number.POSITIVE_INFINITY);
  if (deadline <= Date.now()) throw new ServiceError('deadline_exceeded');
  return inSpan(method.path, SpanKind.CLIENT, context.active(), () => {
    const attempt = (end: number) => send(channel, method, request, outgoing(method, identity, inherited, end), end, inherited);
    return isRead(method) && askAgain ? attemptAgain(attempt, deadline) : attempt(deadline);
  });
}

/**
 * A replica that hangs keeps its connection for some seconds, and its share of all calls would wait for it to the end. What
 * changes nothing is asked again after a second, and once more, for the next replica is another one.
 */
async function attemptAgain(attempt: (deadline: number) => Promise<object>, deadline: number, further = furtherAttempts): Promise<object> {
  const end = further === 0 ? deadline : Math.min(Date.now() + attemptMs, deadline);
  try {
    return await attempt(end);
  } catch (cause) {
    const givenUp = cause instanceof ServiceError && cause.code === 'deadline_exceeded' && end < deadline;
    if (!givenUp) throw cause;
    return attemptAgain(attempt, deadline, further - 1);
  }
}

function outgoing(method: Method, identity: CallerIdentity, inherited: CallContext | undefined, deadline: number): Metadata {
  const metadata = new Metadata();
  metadata.set(headers.caller, identity.signed(inherited?.principal));
  metadata.set(headers.requestId, inherited?.requestId ?? randomUUID());
  for (const [name, value] of Object.entries(traceHeaders())) metadata.set(name, value);
  if (isRead(method)) return metadata;
  metadata.set(headers.deadline, String(deadline));
  if (inherited?.idempotency) writeIdempotency(metadata, inherited.idempotency);
  return metadata;
}

function send(
  channel: GrpcClient,
  method: Method,
  request: object,
  metadata: Metadata,
  deadline: number,
  inherited: CallContext | undefined,
): Promise<object> {
  return new Promise((resolve, reject) => {
    const abort = () => call.cancel();
    const done = (error: GrpcError | null, response?: object) => {
      inherited?.signal?.removeEventListener('abort', abort);
      if (error) reject(fromGrpcError(error));
      else resolve(response as object);
    };
    const call: ClientUnaryCall = channel.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata,
      { deadline },
      done,
    );
    inherited?.signal?.addEventListener('abort', abort, { once: true });
    if (inherited?.onReplayed) call.on('status', ({ metadata: trailer }) => text(trailer, headers.replayed) && inherited.onReplayed?.());
  });
}
