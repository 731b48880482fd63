import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@agent-service/contracts';
import type { BufferedBytes } from '@agent-service/http/replies/buffered-bytes';
import type { Exchange } from '@agent-service/http/replies/exchange';
import type { Reply, StreamEnd } from '@agent-service/http/replies/reply';
import { type BodyLimits, readBytes, refuseBody } from '@agent-service/http/requests/body';
import { traceHeaders } from '@agent-service/runtime';
import type { Dispatcher } from 'undici';
import { admit, callFor, type PipelineDeps } from '../pipeline.ts';
import type { Session } from '../sessions/sessions.ts';
import type { Gateways } from './gateways.ts';
import type { ForwardedPath } from './path.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
type ForwardedMethod = (typeof methods)[number];

/** Everything that the pages may tell the gateway, besides the request's id and trace. No cookie, and nothing about the connection. */
const requestHeaders = ['content-type', 'accept', 'idempotency-key', 'if-match', 'if-none-match', 'last-event-id'] as const;
/** Everything of the gateway's reply that pages have a use for. The portal's own security headers stand in place of the gateway's. */
const replyHeaders = [
  ...[
    'allow',
    'content-disposition',
    'content-length',
    'content-location',
    'etag',
    'idempotent-replayed',
    'location',
    'preference-applied',
  ],
  ...['ratelimit', 'ratelimit-policy', 'retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
  // A proxy reads it: the events of a stream are passed on as they come.
  'x-accel-buffering',
] as const;

/** The largest body of the public API. */
const bodyOfRequest: Omit<BodyLimits, 'values'> = { bytes: 1024 * 1024, withinMs: 60_000 };
/** Streams included: more than a few open tabs need. */
const inFlightOfSession = 24;
/** Keeps one organization, with all of its sessions, from using up the limit of the process. Streams count apart, because they last as long as answers. */
const inFlightOfOrganization = 200;
export const inFlightOfProcess = 2_000;
/** A gateway sends something every 15 s on each stream. */
const quietLimitMs = 60_000;
const unreadLimitMs = 2 * quietLimitMs;

export interface ForwardDeps extends PipelineDeps {
  readonly gateways: Gateways;
  readonly bufferedBytes: BufferedBytes;
  /** How long a gateway may take for the head of its reply to a message, which may wait for the answer, and to any other request. */
  readonly headLimits: { readonly messageMs: number; readonly usualMs: number };
  readonly stopping: AbortSignal;
}

/** Passes a request of a signed-in user on to a gateway, and its reply back, as it comes. */
export function createForwarder(deps: ForwardDeps): (exchange: Exchange, target: ForwardedPath) => Promise<Reply> {
  const inFlight = new InFlight();
  return async (exchange, target) => {
    const method = methods.find((name) => name === exchange.request.method);
    if (!method) throw new ServiceError('method_not_allowed', { message: `This path has the methods ${methods.join(', ')}.` });
    const session = (await admit(exchange, 'session', deps)) as Session;
    const release = inFlight.begin(session, exchange.request.headers.accept?.includes('text/event-stream') ?? false);
    let isHandedOver = false;
    try {
      const body = await readForwardedBody(exchange, session, deps.bufferedBytes);
      const sent = await callFor(exchange, () =>
        deps.backends.sessions.withApiToken(session, target.environment, (accessToken) =>
          send(exchange, { method, target, body, accessToken }, deps),
        ),
      );
      const reply = await toReply(sent, release);
      isHandedOver = reply.stream !== undefined;
      return reply;
    } finally {
      if (!isHandedOver) release();
    }
  };
}

/** Bounds the requests under way of each session and organization, so that one of them cannot take every connection to the gateways. */
class InFlight {
  readonly #counts = new Map<string, number>();
  #all = 0;

  /** Counts a request until the returned function is called. */
  begin({ id, organizationId }: Pick<Session, 'id' | 'organizationId'>, isStream: boolean): () => void {
    const organization = isStream ? `streams of ${organizationId}` : organizationId;
    if (this.#countOf(id) >= inFlightOfSession)
      throw new ServiceError('rate_limited', {
        message: 'Too many requests of this session are under way. Close other tabs, or wait a moment.',
      });
    if (this.#countOf(organization) >= inFlightOfOrganization)
      throw new ServiceError('rate_limited', { message: 'Too many requests of this organization are under way. Wait a moment.' });
    if (this.#all >= inFlightOfProcess) throw new ServiceError('unavailable');
    this.#add([id, organization], 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#add([id, organization], -1);
    };
  }

  #countOf(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  #add(names: readonly string[], change: 1 | -1): void {
    this.#all += change;
    for (const name of names) {
      const count = this.#countOf(name) + change;
      if (count > 0) this.#counts.set(name, count);
      else this.#counts.delete(name);
    }
  }
}

async function readForwardedBody(
  { request }: Exchange,
  { organizationId }: Session,
  bufferedBytes: BufferedBytes,
): Promise<Buffer | undefined> {
  if (request.method === 'GET' || request.method === 'HEAD') {
    await refuseBody(request, { ...bodyOfRequest, values: 0 });
    return undefined;
  }
  if (bufferedBytes.isFull(organizationId)) throw new ServiceError('rate_limited');
  const release = bufferedBytes.add(
    organizationId,
    Math.min(Number(request.headers['content-length'] ?? bodyOfRequest.bytes), bodyOfRequest.bytes),
  );
  try {
    const bytes = await readBytes(request, bodyOfRequest);
    return bytes.length > 0 ? bytes : undefined;
  } finally {
    release();
  }
}

interface ForwardedRequest {
  readonly method: ForwardedMethod;
  readonly target: ForwardedPath;
  readonly body: Buffer | undefined;
  readonly accessToken: string;
}

interface GatewayReply extends Dispatcher.ResponseData {
  /** Stops watching the browser's connection. */
  readonly unwatch: () => void;
}

const messagePath = /\/messages(\/stream)?(\?|$)/;

/** Sends the request; it is aborted when the browser goes away or this process stops. Rejects with `unauthorized` if the gateway refuses the token. */
async function send(
  { request, response, requestId }: Exchange,
  { method, target, body, accessToken }: ForwardedRequest,
  { gateways, headLimits, stopping }: ForwardDeps,
): Promise<GatewayReply> {
  const abort = new AbortController();
  const onEnd = () => abort.abort();
  response.once('close', onEnd);
  // The browser may have gone away before, so that no event will tell.
  if (response.destroyed) onEnd();
  stopping.addEventListener('abort', onEnd, { once: true });
  const unwatch = () => {
    response.off('close', onEnd);
    stopping.removeEventListener('abort', onEnd);
  };
  const own = { authorization: `Bearer ${accessToken}`, 'x-request-id': requestId, ...traceHeaders() };
  const headers = { ...selectHeaders(request.headers), ...own };
  const headersTimeout = method === 'POST' && messagePath.test(target.path) ? headLimits.messageMs : headLimits.usualMs;
  const limits = { headersTimeout, bodyTimeout: quietLimitMs, signal: abort.signal };
  const reply = await gateways.request({ path: target.path, method, headers, body: body ?? null, ...limits }).catch((cause: unknown) => {
    unwatch();
    throw new ServiceError(abort.signal.aborted ? 'cancelled' : 'unavailable', { cause });
  });
  if (reply.statusCode !== unauthorized) return Object.assign(reply, { unwatch });
  unwatch();
  await reply.body.dump();
  throw new ServiceError('unauthorized');
}

const selectHeaders = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(requestHeaders.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])));

const unauthorized = 401;

async function toReply({ statusCode, headers, body, unwatch }: GatewayReply, release: () => void): Promise<Reply> {
  const type = headers['content-type'];
  const reply = { status: statusCode, headers: passedOn(headers), cacheControl: single(headers['cache-control']) };
  if (type === undefined) {
    unwatch();
    await body.dump();
    return reply;
  }
  const end = () => {
    unwatch();
    release();
  };
  return { ...reply, type: single(type), stream: (response) => passBody(body, response).finally(end) };
}

const single = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value);

const passedOn = (headers: IncomingHttpHeaders): string[] =>
  replyHeaders.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [name, single(value) as string];
  });

/** Writes each piece when it comes. A browser that reads nothing for long is disconnected, and with it the request to the gateway. */
async function passBody(body: Dispatcher.ResponseData['body'], response: ServerResponse): Promise<StreamEnd> {
  let bytes = 0;
  // The connection's own timer is the server's, which ends idle connections.
  const unread = setTimeout(() => response.destroy(), unreadLimitMs).unref();
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    unread.refresh();
  });
  try {
    await pipeline(body, response);
    return { bytes, cut: false };
  } catch (cause) {
    return { bytes, cut: true, error: new ServiceError('unavailable', { cause }) };
  } finally {
    clearTimeout(unread);
  }
}
