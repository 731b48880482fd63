import { randomUUID } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { inRequestSpan, type Logger, type Metrics, type ProcessContext } from '@agent-service/runtime';
import { Metadata, Server, type ServiceDefinition } from '@grpc/grpc-js';
import { type Handle, type IncomingCall, type StreamedMethod, serveCallStreams } from '../call-stream/server.ts';
import { Challenges } from '../callers/challenges.ts';
import { enforce } from '../callers/policy.ts';
import type { Caller } from '../callers/principal.ts';
import { openServiceKeys } from '../callers/service-keys.ts';
import { CallVerifier, type SignedCaller } from '../callers/signed-caller.ts';
import { isRead, isRepeatable, loadService, type ServiceName, uncapitalize } from '../catalogue.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { Implementation, Rpc } from './call.ts';
import { Call } from './call.ts';
import { CallAges } from './call-ages.ts';
import { withCall } from './call-context.ts';
import { serveHealth } from './health.ts';
import type { ServerConfig } from './settings.ts';
import { describeServed, spanNameOf } from './spans.ts';
import { serverCredentials, serverOptions } from './transport.ts';
import { headers, idempotencyText, LateCallError, readIdempotency, staleCallError, text, toGrpcError } from './wire.ts';

const drainLimitMs = 8_000;

/** The checks of every call before its handler runs. */
interface CallChecks {
  readonly verifier: CallVerifier;
  readonly challenges: Challenges;
  readonly ages: CallAges;
}

interface Observer {
  logger: Logger;
  seconds: ReturnType<Metrics['seconds']>;
}

interface Method {
  name: string;
  path: string;
  spanName: string;
  isRead: boolean;
  isRepeatable: boolean;
  rpc: Rpc<object, object>;
  logLevel: 'debug' | 'info';
}

interface Served {
  requestId: string;
  startedAt: number;
  organizationId?: string | undefined;
  error?: ServiceError;
}

/** Serves one service and its health over gRPC; resolves to the port. Stops with the process, calls under way first. */
export async function serve<Name extends ServiceName>(
  process: ProcessContext,
  config: ServerConfig & { HOST: string },
  name: Name,
  implementation: Implementation<Name>,
): Promise<number> {
  const server = new Server(serverOptions);
  const verifier = new CallVerifier(openServiceKeys(config, name), name, process.clock.now);
  const checks: CallChecks = { verifier, challenges: new Challenges(), ages: new CallAges() };
  const observer: Observer = {
    logger: process.logger,
    seconds: process.metrics.seconds('grpc_server_seconds', 'Duration of gRPC calls served', ['method', 'code']),
  };
  const service = keepBytes(loadService(name));
  const handlers = handlersOf(service, implementation as unknown as Record<string, Rpc<object, object>>, checks, observer);
  server.addService(service, handlers);
  const streams = serveCallStreams(server, streamedMethods(service, handlers));
  serveHealth(process, server, checks);

  const port = await bind(server, config);
  process.onStop('grpc server', () => drain(server, streams), drainLimitMs + 1_000);
  process.logger.info({ event: 'grpc_listening', port });
  return port;
}

type Handlers = Record<string, Handle<Received, object>>;

function handlersOf(
  service: ServiceDefinition,
  rpcs: Record<string, Rpc<object, object>>,
  checks: CallChecks,
  observer: Observer,
): Handlers {
  const handlers = Object.entries(service).map(([name, definition]) => {
    const rpc = rpcs[uncapitalize(name)];
    if (!rpc) throw new Error(`${name} is not implemented`);
    const method: Method = {
      name,
      path: definition.path,
      spanName: spanNameOf(definition.path),
      isRead: isRead(definition),
      isRepeatable: isRepeatable(definition),
      rpc,
      logLevel: rpc.logLevel ?? (isRead(definition) ? 'debug' : 'info'),
    };
    return [name, handler(method, checks, observer)];
  });
  return Object.fromEntries(handlers);
}

const streamedMethods = (service: ServiceDefinition, handlers: Handlers): Map<string, StreamedMethod> =>
  new Map(
    Object.entries(service).map(([name, { path, requestDeserialize, responseSerialize }]) => [
      path,
      { deserialize: requestDeserialize, serialize: responseSerialize, handle: handlers[name] as Handle<unknown, object> },
    ]),
  );

function handler(method: Method, checks: CallChecks, observer: Observer): Handle<Received, object> {
  return (grpc, callback) => {
    const startedAt = performance.now();
    const requestId = text(grpc.metadata, headers.requestId) ?? randomUUID();
    handleCall(method, grpc, requestId, checks).then(
      ({ response, call }) => {
        callback(null, response, call.replayed ? replayedTrailer() : undefined);
        observe(observer, method, { requestId, startedAt, organizationId: call.principal?.organizationId });
      },
      (cause: unknown) => {
        // Part of the protocol, not a failure: the caller signs the call again at once.
        if (cause instanceof StaleCall) return callback(staleCallError(checks.challenges.present), null);
        const error = ServiceError.from(cause);
        callback(toGrpcError(error), null);
        observe(observer, method, { requestId, startedAt, error });
      },
    );
  };
}

async function handleCall(method: Method, grpc: IncomingCall<Received>, requestId: string, checks: CallChecks) {
  const { spanName, isRead, rpc } = method;
  const signed = { caller: text(grpc.metadata, headers.caller) ?? '', voucher: text(grpc.metadata, headers.voucher) ?? '' };
  const caller = callerOf(method, grpc, { ...signed, requestId }, checks);
  enforce(rpc.allow, caller);
  // Reads carry neither the time of sending nor an idempotency key.
  const ageMs = isRead ? 0 : checks.ages.ageOf(text(grpc.metadata, headers.sent));
  const requestedOnce = isRead ? undefined : readIdempotency(grpc.metadata);
  const call = new Call(grpc, { caller, requestId, voucher: signed.voucher || undefined, ageMs, requestedOnce });
  // A call that was read after its caller had given up, as after a pause of this process, must not begin.
  if (grpc.cancelled) throw new ServiceError('cancelled');
  if (performance.now() > call.expiresAt) throw new LateCallError();
  const readTraceparent = () => text(grpc.metadata, headers.traceparent);
  const response = await withCall(call, () =>
    inRequestSpan(
      spanName,
      readTraceparent,
      () => rpc.handle(grpc.request.message, call),
      (end) => describeServed(spanName, requestId, end),
    ),
  );
  return { response, call };
}

/** The call was signed by a service, under a challenge that is over or was of another replica. */
class StaleCall extends Error {}

function callerOf(
  { path, isRead, isRepeatable }: Method,
  { metadata, request }: IncomingCall<Received>,
  signed: SignedCaller & { readonly requestId: string },
  { verifier, challenges }: CallChecks,
): Caller {
  const idempotency = isRead ? '' : idempotencyText(metadata);
  const verified = verifier.verify(signed, { path, requestId: signed.requestId, idempotency, body: request.bytes });
  if (!verified) throw new ServiceError('service_forbidden', { message: 'The call is not signed by a known service.' });
  if (!challenges.isGood(verified.challenge)) throw new StaleCall();
  if (!isRepeatable && !challenges.acceptOnce(verified.challenge, verified.signature))
    throw new ServiceError('service_forbidden', { message: 'The call was received before.' });
  return verified.caller;
}

/** A request with the bytes that it was read from: signatures cover these. */
interface Received {
  readonly message: object;
  readonly bytes: Uint8Array;
}

function keepBytes(service: ServiceDefinition): ServiceDefinition {
  const keep = (definition: ServiceDefinition[string]) => ({
    ...definition,
    requestDeserialize: (bytes: Buffer): Received => ({ message: definition.requestDeserialize(bytes) as object, bytes }),
  });
  return Object.fromEntries(Object.entries(service).map(([name, definition]) => [name, keep(definition)]));
}

function replayedTrailer(): Metadata {
  const trailer = new Metadata();
  trailer.set(headers.replayed, 'true');
  return trailer;
}

function observe({ logger, seconds }: Observer, { name, logLevel }: Method, { requestId, startedAt, organizationId, error }: Served): void {
  const durationMs = performance.now() - startedAt;
  const code = error?.code ?? 'ok';
  seconds.observe({ method: name, code }, durationMs / 1000);
  const level = error?.definition.http === 500 ? 'error' : error?.cause ? 'warn' : logLevel;
  if (!logger.isLevelEnabled(level)) return;
  logger[level]({
    event: 'rpc',
    method: name,
    request_id: requestId,
    organization_id: organizationId,
    code,
    duration_ms: Math.round(durationMs * 100) / 100,
    ...(error && level !== logLevel && { err: error.cause ?? error }),
  });
}

function bind(server: Server, config: ServerConfig & { HOST: string }): Promise<number> {
  const host = isIPv6(config.HOST) ? `[${config.HOST}]` : config.HOST;
  const address = `${host}:${config.GRPC_PORT}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, serverCredentials(config), (error, port) => (error ? reject(error) : resolve(port)));
  });
}

function drain(server: Server, streams: { close(): void }): Promise<void> {
  streams.close();
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.forceShutdown(), drainLimitMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
