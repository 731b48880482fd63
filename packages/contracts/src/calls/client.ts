import { randomUUID } from 'node:crypto';
import { type ClockSampler, ConfigurationError, inStepSpan, type ProcessContext, setting, traceHeaders } from '@agent-service/runtime';
import { withTimeout } from '@agent-service/work';
import { type ServiceError as GrpcError, Metadata, type MethodDefinition, status } from '@grpc/grpc-js';
import type { Answered } from '../call-stream/client.ts';
import { openServiceKeys } from '../callers/service-keys.ts';
import { CallSigner } from '../callers/signed-caller.ts';
import type { CallOptions, Client } from '../catalogue.ts';
import { isRead, isRepeatable, loadService, type ServiceName, timeoutOf, uncapitalize } from '../catalogue.ts';
import { ServiceError } from '../errors/service-error.ts';
import { callOnce, callWithFailover, type Done, DuplicateBudget, type OutgoingCall } from './attempts.ts';
import { type CallContext, currentCall } from './call-context.ts';
import { type Checking, checkReplica } from './health.ts';
import { type Replica, ReplicaSet, readTarget } from './replicas.ts';
import type { ClientConfig } from './settings.ts';
import { describeSent, spanNameOf } from './spans.ts';
import { channelOptions, clientCredentials } from './transport.ts';
import { startUnaryCall } from './unary-call.ts';
import { challengeOf, fromGrpcError, hasAnswered, headers, idempotencyText, isLate, text, writeIdempotency } from './wire.ts';

interface ClientOptions {
  /** A gRPC target: `dns:///identity:50051`, `ipv4:10.0.0.1:50051,10.0.0.2:50051`. Every address is a replica. */
  address: string;
  /** The name of the calling service. */
  as: string;
  config: ClientConfig;
  /** Receives the time in health responses. */
  clock?: ClockSampler;
}

interface Method extends Pick<MethodDefinition<object, object>, 'path' | 'requestSerialize' | 'responseDeserialize'> {
  readonly spanName: string;
  readonly isRead: boolean;
  readonly isRepeatable: boolean;
}

/** State that all calls of a client share. */
interface Calling {
  readonly replicas: ReplicaSet;
  readonly budget: DuplicateBudget;
  readonly signer: CallSigner;
}

/** The typed client of a service: promises, inherited deadline, request id, trace and signed caller. */
export function createClient<Name extends ServiceName>(name: Name, { address, as, config, clock }: ClientOptions): Client<Name> {
  const service = loadService(name);
  const methods = Object.entries(service) as [string, MethodDefinition<object, object>][];
  const signer = new CallSigner(openServiceKeys(config, as), as, name);
  const replicas: ReplicaSet = new ReplicaSet({
    addresses: readTarget(address),
    credentials: clientCredentials(config, address),
    options: channelOptions,
    check: (replica) => checkReplica(checking, replica),
    isCheckedFirst: clock !== undefined,
  });
  const checking: Checking = { replicas, signer, clock };
  const calling: Calling = { replicas, budget: new DuplicateBudget(), signer };

  const call = (methodName: string, definition: MethodDefinition<object, object>) => {
    const { path, requestSerialize, responseDeserialize } = definition;
    const method = {
      path,
      requestSerialize,
      responseDeserialize,
      spanName: spanNameOf(path),
      isRead: isRead(definition),
      isRepeatable: isRepeatable(definition),
    };
    const maxTimeMs = timeoutOf(name, methodName);
    return (request: object, { timeoutMs = maxTimeMs, waitAt, isSentOnce = waitAt !== undefined }: CallOptions = {}) =>
      unary(calling, method, request, { timeoutMs, waitAt, isSentOnce });
  };
  const client = {
    ...Object.fromEntries(methods.map(([methodName, method]) => [uncapitalize(methodName), call(methodName, method)])),
    checkHealth: () => checkHealth(checking, name),
    checkSignature: () => checkSignature(checking, name),
    replicas: () => listReplicas(replicas),
    isReachable: () => replicas.isReachable,
    close: () => replicas.close(),
  };
  return client as Client<Name>;
}

type OpenClientOptions = Omit<ClientOptions, 'clock'> & { readonly followsClock?: boolean };

/** A client that its process closes when it stops. With `followsClock` the process follows the clock of that service. */
export function openClient<Name extends ServiceName>(
  process: ProcessContext,
  name: Name,
  { followsClock = false, ...options }: OpenClientOptions,
): Client<Name> {
  const client = createClient(name, { ...options, ...(followsClock && { clock: process.clock.follow() }) });
  process.onStop(`${name} client`, async () => client.close());
  return client;
}

/** A service serves where one of its replicas says so. */
async function checkHealth(checking: Checking, name: string): Promise<void> {
  const { replicas } = checking;
  const checked: Replica[] = [];
  if (!replicas.isStarted) await replicas.start();
  for (let replica = replicas.pick(); replica; replica = replicas.pick(checked)) {
    await checkReplica(checking, replica);
    if (replica.state === 'serving') return;
    checked.push(replica);
  }
  const cause = checked.find(({ fault }) => fault)?.fault;
  throw new ServiceError('unavailable', { message: `${name} is not serving`, cause });
}

const firstWordLimitMs = 500;

/** Passes while no replica has said a word on the signature: nothing is known against it. */
async function checkSignature(checking: Checking, name: string): Promise<void> {
  const { replicas } = checking;
  if (replicas.refusals().length === 0) {
    await withTimeout(checkHealth(checking, name), firstWordLimitMs, () => new Error('no answer')).catch(() => undefined);
  }
  const refusals = replicas.refusals();
  // In a rotation some replicas may not know the key yet, or no more: calls go to the others.
  const cause = refusals.includes(null) ? undefined : refusals[0];
  if (cause) throw new ServiceError('unavailable', { message: `${name} refuses the calls of this process`, cause });
}

/** Empty until the addresses are resolved, which the first call begins. */
function listReplicas(replicas: ReplicaSet): readonly string[] {
  if (!replicas.isStarted) replicas.start().catch(() => undefined);
  return replicas.serving();
}

interface UnaryOptions {
  readonly timeoutMs: number;
  readonly waitAt: string | undefined;
  readonly isSentOnce: boolean;
}

function unary(calling: Calling, method: Method, request: object, { timeoutMs, waitAt, isSentOnce }: UnaryOptions): Promise<object> {
  const inherited = currentCall();
  const expiresAt = Math.min(performance.now() + timeoutMs, inherited?.expiresAt ?? Number.POSITIVE_INFINITY);
  if (expiresAt <= performance.now()) return Promise.reject(new ServiceError('deadline_exceeded'));
  const run = () => {
    const sending: Sending = {
      method,
      body: method.requestSerialize(request),
      expiresAt,
      inherited,
      requestId: inherited?.requestId ?? randomUUID(),
      counter: waitAt === undefined ? 'inFlight' : 'waiting',
    };
    const call: OutgoingCall = {
      replicas: calling.replicas,
      budget: calling.budget,
      expiresAt,
      signal: inherited?.signal,
      target: waitAt,
      send: (replica, done) => send(calling, replica, sending, done),
    };
    return method.isRepeatable && !isSentOnce ? callWithFailover(call) : callOnce(call);
  };
  return inStepSpan(method.spanName, run, (end) => describeSent(method.spanName, end));
}

interface Sending {
  readonly method: Method;
  readonly body: Buffer;
  readonly expiresAt: number;
  readonly inherited: CallContext | undefined;
  readonly requestId: string;
  /** The replica's counter of such calls. */
  readonly counter: 'inFlight' | 'waiting';
}

function outgoingMetadata({ signer }: Calling, { challenge, sender }: Replica, { method, body, inherited, requestId }: Sending): Metadata {
  const metadata = new Metadata();
  metadata.set(headers.requestId, requestId);
  const trace = traceHeaders();
  for (const header in trace) metadata.set(header, trace[header] as string);
  if (!method.isRead) {
    metadata.set(headers.sent, `${sender} ${Math.round(performance.now())}`);
    if (inherited?.idempotency) writeIdempotency(metadata, inherited.idempotency);
  }
  const call = { path: method.path, challenge, requestId, idempotency: method.isRead ? '' : idempotencyText(metadata), body };
  const { caller, voucher } = signer.sign(call, inherited?.principal, inherited?.voucher);
  metadata.set(headers.caller, caller);
  if (voucher) metadata.set(headers.voucher, voucher);
  return metadata;
}

function noteReplay(inherited: CallContext | undefined, trailers: Metadata): void {
  if (inherited?.onReplayed && text(trailers, headers.replayed)) inherited.onReplayed();
}

function send(calling: Calling, replica: Replica, sending: Sending, done: Done) {
  const { method, body, expiresAt, inherited, counter } = sending;
  let isSignedAgain = false;
  let isMeasuredAgain = false;
  let isStreamed = false;
  let sender = '';
  /** True after a failure that proves that the replica did not run the call. */
  const mayRepeat = (error: GrpcError): boolean => {
    // By this clock it is not late: the clock stood still, as on a paused machine, and the replica compares the call with earlier ones.
    if (isLate(error) && !isMeasuredAgain && performance.now() < expiresAt) {
      isMeasuredAgain = true;
      if (replica.sender === sender) replica.sender = randomUUID();
      return true;
    }
    const challenge = isSignedAgain ? undefined : challengeOf(error);
    // A replica of the version before call streams does not know them.
    if (challenge === undefined) return error.code === status.UNIMPLEMENTED && isStreamed && !replica.callStream.carries(body);
    // The replica started a moment ago, or sent nothing for a while.
    isSignedAgain = true;
    replica.challenge = challenge;
    return true;
  };
  const answered: Answered = (error, response, trailers) => {
    if (error && mayRepeat(error)) {
      call = request();
      return;
    }
    replica[counter] -= 1;
    if (!error || hasAnswered(error)) calling.replicas.noteResponse(replica);
    else if (error.code === status.UNAVAILABLE) replica.state = 'away';
    if (error) done(fromGrpcError(error));
    else {
      noteReplay(inherited, trailers);
      done(null, response);
    }
  };
  /** Undefined if the replica was closed in the meantime, because it is no longer among the addresses. */
  const request = (): { cancel(): void } | undefined => {
    try {
      const metadata = outgoingMetadata(calling, replica, sending);
      sender = replica.sender;
      isStreamed = replica.callStream.carries(body);
      if (isStreamed) return replica.callStream.send({ method, body, metadata, expiresAt }, answered);
      const deadline = Date.now() + (expiresAt - performance.now());
      return startUnaryCall(replica.channel, method, { body, metadata, deadline }, { onEnd: answered });
    } catch (cause) {
      replica[counter] -= 1;
      replica.state = 'away';
      queueMicrotask(() => done(new ServiceError('unavailable', { cause })));
      return undefined;
    }
  };
  replica[counter] += 1;
  let call = request();
  return { cancel: () => call?.cancel() };
}

/** Settings of every process that calls the webhooks service where it is enabled. */
export const webhooksClientSettings = {
  WEBHOOKS_ENABLED: setting.flag(false).describe('Webhooks and their events; see [webhook receivers](../guides/webhook-receivers.md).'),
  WEBHOOKS_ADDRESS: setting.text().optional().describe('Address of `webhooks`.'),
};

export interface WebhooksClientConfig extends ClientConfig {
  WEBHOOKS_ENABLED: boolean;
  WEBHOOKS_ADDRESS?: string | undefined;
}

/** The client of the webhooks service for the service of this name; undefined where webhooks are off. */
export function openWebhooksClient(process: ProcessContext, config: WebhooksClientConfig, as: string): Client<'webhooks'> | undefined {
  if (!config.WEBHOOKS_ENABLED) return undefined;
  const address = config.WEBHOOKS_ADDRESS;
  if (!address) throw new ConfigurationError(['WEBHOOKS_ADDRESS: is required with WEBHOOKS_ENABLED=true']);
  return openClient(process, 'webhooks', { address, as, config });
}
