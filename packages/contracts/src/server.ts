import { randomUUID } from 'node:crypto';
import { inSpan, type Logger, type Metrics, type ProcessContext, remoteContext } from '@agent-service/runtime';
import { Metadata, Server, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { SpanKind } from '@opentelemetry/api';
import { HealthImplementation } from 'grpc-health-check';
import { Call } from './call.ts';
import { withCall } from './call-context.ts';
import { loadService, type ServiceName } from './catalogue.ts';
import { serverOptions } from './channel-options.ts';
import { serverCredentials } from './credentials.ts';
import { enforce } from './policy.ts';
import { ServiceError } from './service-error.ts';
import type { ServerConfig } from './settings.ts';
import { type CallerVerifier, createVerifier } from './signed-caller.ts';
import type { Implementation, Rpc } from './types.ts';
import { headers, readIdempotency, text, toGrpcError } from './wire.ts';

const healthEveryMs = 1_000;
const drainLimitMs = 8_000;

interface Observer {
  logger: Logger;
  seconds: ReturnType<Metrics['seconds']>;
}

/** Serves one service and its health over gRPC; answers with the port. Stops with the process, calls under way first. */
export async function serve<Name extends ServiceName>(
  process: ProcessContext,
  config: ServerConfig & { HOST: string },
  name: Name,
  implementation: Implementation<Name>,
): Promise<number> {
  const server = new Server(serverOptions);
  const verifier = createVerifier(config.SERVICE_SECRET);
  const observer: Observer = {
    logger: process.logger,
    seconds: process.metrics.seconds('grpc_server_seconds', 'Duration of gRPC calls served', ['method', 'code']),
  };
  const { service } = loadService(name);
  const rpcs = implementation as unknown as Record<string, Rpc<object, object>>;
  const handlers = Object.keys(service).map((method) => {
    const rpc = rpcs[method.charAt(0).toLowerCase() + method.slice(1)];
    if (!rpc) throw new Error(`${name} does not implement ${method}`);
    return [method, handler(method, rpc, verifier, observer)];
  });
  server.addService(service, Object.fromEntries(handlers));
  serveHealth(process, server);

  const port = await bind(server, `${config.HOST}:${config.GRPC_PORT}`, config);
  process.onStop('grpc server', () => drain(server), drainLimitMs + 1_000);
  process.logger.info({ event: 'grpc_listening', port });
  return port;
}

function handler(method: string, rpc: Rpc<object, object>, verifier: CallerVerifier, observer: Observer) {
  return (grpc: ServerUnaryCall<object, object>, callback: sendUnaryData<object>) => {
    const started = performance.now();
    const requestId = text(grpc.metadata, headers.requestId) ?? randomUUID();
    answer(rpc, method, grpc, requestId, verifier).then(
      ({ response, call }) => {
        callback(null, response, call.replayed ? replayedTrailer() : undefined);
        observe(observer, method, requestId, started, call.caller.principal?.organizationId);
      },
      (cause: unknown) => {
        const error = ServiceError.from(cause);
        callback(toGrpcError(error), null);
        observe(observer, method, requestId, started, undefined, error);
      },
    );
  };
}

async function answer(
  rpc: Rpc<object, object>,
  method: string,
  grpc: ServerUnaryCall<object, object>,
  requestId: string,
  verifier: CallerVerifier,
) {
  const caller = verifier.verify(text(grpc.metadata, headers.caller) ?? '');
  if (!caller) throw new ServiceError('service_forbidden', { message: 'The call is not signed by a known service.' });
  enforce(rpc.allow, caller);
  const call = new Call(grpc, caller, requestId, readIdempotency(grpc.metadata));
  const parent = remoteContext(text(grpc.metadata, headers.traceparent));
  const response = await withCall(call, () => inSpan(method, SpanKind.SERVER, parent, {}, () => rpc.handle(grpc.request, call)));
  return { response, call };
}

function replayedTrailer(): Metadata {
  const trailer = new Metadata();
  trailer.set(headers.replayed, 'true');
  return trailer;
}

function observe(
  { logger, seconds }: Observer,
  method: string,
  requestId: string,
  started: number,
  organizationId: string | undefined,
  error?: ServiceError,
): void {
  const durationMs = performance.now() - started;
  const code = error?.code ?? 'ok';
  seconds.observe({ method, code }, durationMs / 1000);
  const event = {
    event: 'rpc',
    method,
    request_id: requestId,
    organization_id: organizationId,
    code,
    duration_ms: Math.round(durationMs * 100) / 100,
  };
  if (error?.definition.http === 500) logger.error({ ...event, err: error.cause ?? error });
  else if (error?.cause) logger.warn({ ...event, err: error.cause });
  else logger.info(event);
}

/** Publishes the process's own readiness as gRPC health, for balancers and for services that depend on it. */
function serveHealth(process: ProcessContext, server: Server): void {
  const health = new HealthImplementation({ '': 'NOT_SERVING' });
  health.addToServer(server);
  const refresh = async () => {
    const { ready } = await process.health.report();
    health.setStatus('', ready ? 'SERVING' : 'NOT_SERVING');
  };
  const timer = setInterval(() => void refresh(), healthEveryMs);
  process.onStop('grpc health', async () => {
    clearInterval(timer);
    health.setStatus('', 'NOT_SERVING');
  });
}

function bind(server: Server, address: string, config: ServerConfig): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, serverCredentials(config), (error, port) => (error ? reject(error) : resolve(port)));
  });
}

function drain(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.forceShutdown(), drainLimitMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
