import { randomUUID } from 'node:crypto';
import { type ClockSampler, inSpan, traceHeaders } from '@agent-service/runtime';
import { type ServiceError as GrpcError, Metadata, type MethodDefinition } from '@grpc/grpc-js';
import { context, SpanKind } from '@opentelemetry/api';
import { readTarget } from './addresses.ts';
import { type Call, callOnce, callRepeatedly, type Done, DuplicateBudget } from './attempts.ts';
import { type CallContext, currentCall } from './call-context.ts';
import { loadService, type ServiceName, timeoutOf } from './catalogue.ts';
import { channelOptions } from './channel-options.ts';
import { clientCredentials } from './credentials.ts';
import { checkReplica } from './health-check.ts';
import { isRead, isRepeatable, uncapitalize } from './methods.ts';
import type { Caller, Principal } from './principal.ts';
import { type Replica, ReplicaSet } from './replicas.ts';
import { ServiceError } from './service-error.ts';
import type { ClientConfig } from './settings.ts';
import { type CallerSigner, createSigner } from './signed-caller.ts';
import type { CallOptions, Client } from './types.ts';
import { fromGrpcError, hasAnswered, headers, text, writeIdempotency } from './wire.ts';

export interface ClientOptions {
  /** A gRPC target: `dns:///identity:50051`, `ipv4:10.0.0.1:50051,10.0.0.2:50051`. Every address is a replica. */
  address: string;
  /** The name of the calling service. */
  as: string;
  config: ClientConfig;
  /** Is told the time that health answers carry. */
  clock?: ClockSampler;
}

type Method = MethodDefinition<object, object>;

/** What all calls of a client have in common. */
interface Calling {
  readonly replicas: ReplicaSet;
  readonly budget: DuplicateBudget;
  readonly identity: CallerIdentity;
  /** Under this name a server knows how long our calls are usually under way. */
  readonly name: string;
}

/** The typed client of a service: promises, inherited deadline, request id, trace and signed caller. */
export function createClient<Name extends ServiceName>(name: Name, { address, as, config, clock }: ClientOptions): Client<Name> {
  const { service } = loadService(name);
  const methods = Object.entries(service) as [string, Method][];
  const replicas: ReplicaSet = new ReplicaSet({
    addresses: readTarget(address),
    credentials: clientCredentials(config),
    options: channelOptions,
    check: (replica) => checkReplica(replicas, replica, clock),
    isCheckedFirst: clock !== undefined,
  });
  const identity = new CallerIdentity(as, createSigner(config.SERVICE_SECRET));
  const calling: Calling = { replicas, budget: new DuplicateBudget(), identity, name: randomUUID() };

  const call = (methodName: string, method: Method) => {
    const longestMs = timeoutOf(name, methodName);
    return (request: object, { timeoutMs = longestMs }: CallOptions = {}) => unary(calling, method, request, timeoutMs);
  };
  const client = {
    ...Object.fromEntries(methods.map(([methodName, method]) => [uncapitalize(methodName), call(methodName, method)])),
    checkHealth: () => checkHealth(replicas, name, clock),
    close: () => replicas.close(),
  };
  return client as Client<Name>;
}

/** A service serves where one of its replicas says so. */
async function checkHealth(replicas: ReplicaSet, name: string, clock: ClockSampler | undefined): Promise<void> {
  const asked: Replica[] = [];
  for (let replica = await replicas.pick(); replica; replica = await replicas.pick(asked)) {
    await checkReplica(replicas, replica, clock);
    if (replica.state === 'serving') return;
    asked.push(replica);
  }
  throw new ServiceError('unavailable', { message: `${name} is not serving` });
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

function unary(calling: Calling, method: Method, request: object, timeoutMs: number): Promise<object> {
  const inherited = currentCall();
  const expiresAt = Math.min(performance.now() + timeoutMs, inherited?.expiresAt ?? Number.POSITIVE_INFINITY);
  if (expiresAt <= performance.now()) return Promise.reject(new ServiceError('deadline_exceeded'));
  return inSpan(method.path, SpanKind.CLIENT, context.active(), () => {
    const call: Call = {
      replicas: calling.replicas,
      budget: calling.budget,
      expiresAt,
      signal: inherited?.signal,
      send: (replica, done) => send(calling, replica, method, request, { expiresAt, inherited }, done),
    };
    return isRepeatable(method) ? callRepeatedly(call) : callOnce(call);
  });
}

function outgoing({ identity, name }: Calling, method: Method, inherited: CallContext | undefined): Metadata {
  const metadata = new Metadata();
  metadata.set(headers.caller, identity.signed(inherited?.principal));
  metadata.set(headers.requestId, inherited?.requestId ?? randomUUID());
  for (const [header, value] of Object.entries(traceHeaders())) metadata.set(header, value);
  if (isRead(method)) return metadata;
  metadata.set(headers.sent, `${name} ${Math.round(performance.now())}`);
  if (inherited?.idempotency) writeIdempotency(metadata, inherited.idempotency);
  return metadata;
}

interface Sending {
  readonly expiresAt: number;
  readonly inherited: CallContext | undefined;
}

function send(calling: Calling, replica: Replica, method: Method, request: object, { expiresAt, inherited }: Sending, done: Done) {
  const { replicas } = calling;
  const answered = (error: GrpcError | null, response?: object) => {
    replica.inFlight -= 1;
    if (!error || hasAnswered(error)) replicas.heard(replica);
    if (error) done(fromGrpcError(error));
    else done(null, response);
  };
  replica.inFlight += 1;
  // The library counts from the time of day, and sends what is left of it.
  const deadline = Date.now() + (expiresAt - performance.now());
  const call = replica.channel.makeUnaryRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    request,
    outgoing(calling, method, inherited),
    { deadline },
    answered,
  );
  if (inherited?.onReplayed) call.on('status', ({ metadata: trailer }) => text(trailer, headers.replayed) && inherited.onReplayed?.());
  return { cancel: () => call.cancel() };
}
