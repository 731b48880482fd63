import type { ServiceError } from '@agent-service/contracts';
import { inRequestSpan, type ProcessContext, type SpanDescription, type SpanEnd } from '@agent-service/runtime';
import type { Request, RequestHandler, Response } from 'express';
import { errorReply, type PublicError, publicError } from './error-reply.ts';
import { Exchange } from './exchange.ts';
import { type Delivery, type Reply, type Stream, type StreamEnd, send } from './reply.ts';

interface ResponderDeps {
  readonly observer: Observer;
  readonly delivery: Delivery;
}

type ErrorWriter = (exchange: Exchange, error: PublicError) => Reply;

type Work = (exchange: Exchange) => Promise<Reply> | Reply;

export type Responder = (route: string, work: Work, onError?: ErrorWriter) => RequestHandler;

interface Result {
  readonly reply: Reply;
  readonly error?: PublicError;
}

/** Makes a handler that always answers: with the reply of the work, or with the error reply for its failure. */
export function createResponder({ observer, delivery }: ResponderDeps): Responder {
  return (route, work, onError = errorReply) => {
    async function answer(exchange: Exchange): Promise<Outcome> {
      const { reply, error } = await resultOf(exchange, work, onError);
      if (!exchange.abandoned) send(exchange, reply, delivery);
      if (reply.stream) return { status: reply.status, ...(await endOf(reply.stream, exchange)) };
      return { status: reply.status, bytes: reply.body ? Buffer.byteLength(reply.body) : 0, error };
    }
    return async (request: Request, response: Response) => {
      const exchange = new Exchange(request, response, route);
      observer.finished(exchange, await (isProbe(exchange) ? answer(exchange) : inExchangeSpan(exchange, () => answer(exchange))));
    };
  };
}

/** The span lasts until a streamed reply has ended. It has failed for faults of the service, and not for mistakes of the caller. */
function inExchangeSpan(exchange: Exchange, answer: () => Promise<Outcome>): Promise<Outcome> {
  const { request, route } = exchange;
  const readTraceparent = () => text(request.headers['traceparent']);
  return inRequestSpan(`${nameOfMethod(request)} ${route}`, readTraceparent, answer, (end) => describeSpan(exchange, end));
}

function describeSpan(exchange: Exchange, end: SpanEnd<Outcome>): SpanDescription {
  const { route, requestId, request } = exchange;
  const attributes = { 'http.request.method': nameOfMethod(request), 'http.route': route, 'agent_service.request_id': requestId };
  if ('cause' in end) return { attributes, isFailed: true };
  const { status, error, cut = exchange.abandoned } = end.result;
  const isFailed = status === 500 || (!cut && (status >= 500 || (error !== undefined && error.definition.http >= 500)));
  const reported = { ...attributes, 'http.response.status_code': cut ? abandonedStatus : status };
  return { attributes: reported, isFailed, errorType: error?.code ?? String(status) };
}

/** The head of a stream is already written when it fails, so its connection is closed. */
async function endOf(stream: Stream, { response }: Exchange): Promise<StreamEnd> {
  try {
    return await stream(response);
  } catch (cause) {
    response.destroy();
    return { bytes: 0, error: publicError(cause), cut: true };
  }
}

async function resultOf(exchange: Exchange, work: Work, onError: ErrorWriter): Promise<Result> {
  try {
    return { reply: await work(exchange) };
  } catch (cause) {
    const error = publicError(cause);
    return { reply: onError(exchange, error), error };
  }
}

const probes = new Set(['/livez', '/readyz']);

/**
 * Load balancers and portals each probe several times a second. Measured as requests of callers, probes would hide the share of requests that fail,
 * and be failures themselves while the process is unready.
 */
const isProbe = ({ route }: Exchange): boolean => probes.has(route);

const text = (header: string | string[] | undefined) => (typeof header === 'string' ? header : undefined);

interface Outcome {
  readonly status: number;
  readonly bytes: number;
  readonly error?: ServiceError | undefined;
  /** True for a stream whose reader disconnected before the end. */
  readonly cut?: boolean;
}

interface Observer {
  /** Called once for each request, when its reply is written. */
  finished(exchange: Exchange, outcome: Outcome): void;
}

const abandonedStatus = 499;

const usualMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** For metrics and spans: a caller may send any of Node's 35 methods to any path, and each pair would be another series. */
const nameOfMethod = ({ method = '' }: Exchange['request']): string => (usualMethods.has(method) ? method : '_OTHER');

/** Writes one log event and one measurement for each request of a caller, without headers, bodies, query strings and secrets. */
export function createObserver({ logger, metrics }: ProcessContext): Observer {
  const seconds = metrics.seconds('http_server_seconds', 'Duration of HTTP requests served', ['route', 'method', 'status']);
  return {
    finished(exchange, { status, bytes, error, cut = exchange.abandoned }) {
      const durationMs = performance.now() - exchange.startedAt;
      const reported = cut ? abandonedStatus : status;
      if (!isProbe(exchange))
        seconds.observe({ route: exchange.route, method: nameOfMethod(exchange.request), status: reported }, durationMs / 1_000);
      const event = {
        event: 'request',
        ...describe(exchange),
        status: reported,
        // The code of a failure that is passed on from another server stands in its body, which is not read.
        code: error?.code ?? (status < 400 ? 'ok' : undefined),
        duration_ms: Math.round(durationMs * 100) / 100,
        bytes,
      };
      const level = levelOf(exchange, status, cut);
      if (level === 'error') logger.error({ ...event, err: error?.cause ?? error });
      else if (level === 'warn') logger.warn({ ...event, err: error?.cause });
      else logger[level](event);
    },
  };
}

function levelOf(exchange: Exchange, status: number, cut: boolean): 'error' | 'warn' | 'info' | 'debug' {
  if (status === 500) return 'error';
  if (isProbe(exchange)) return 'debug';
  return status > 500 && !cut ? 'warn' : 'info';
}

const describe = ({ request, route, requestId, principal }: Exchange) => ({
  method: request.method,
  route,
  request_id: requestId,
  organization_id: principal?.organizationId,
  environment: principal?.environment,
  user_id: principal?.userId,
  credential_id: principal?.credentialId,
});
