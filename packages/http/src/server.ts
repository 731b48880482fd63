import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { BlockList, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type PublicErrorCode, ServiceError } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { errorBody, type PublicError } from './replies/error-reply.ts';
import { apiHeaders } from './replies/security-headers.ts';
import { clientAddress, countedAddress, isTrustedProxy } from './requests/client-address.ts';
import { discardRest } from './requests/unread-body.ts';

const maxHeaderSize = 16 * 1024;

/** Longer than the idle time of common load balancers, so that they close a connection before this server does. */
const keepAliveTimeout = 75_000;
/** Each is supported by some path. */
const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const headersTimeout = 20_000;
const requestTimeout = 60_000;

/** Requests that a client may send on a connection before the first of them is answered. */
const maxPipelined = 50;

const refusedSockets = new WeakSet<Duplex>();

const parserCodes: Record<string, PublicErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Node's server with bounds on everything a client can make it wait for, and our error body even for what is not HTTP. */
export function createHttpServer(listener: RequestListener): Server {
  // Only pages need a Host header, and Node's own reply to a missing one has no body.
  const options = { maxHeaderSize, keepAliveTimeout, headersTimeout, requestTimeout, requireHostHeader: false };
  const server = createServer(options, boundPipelining(listener));
  // Node would drop further headers, perhaps a second Authorization. The pipeline refuses requests with too many.
  server.maxHeadersCount = 0;
  server.on('clientError', (cause: NodeJS.ErrnoException, socket) => refuseBytes(socket as TrackedSocket, cause));
  // Without this, Node closes the connection without a reply.
  server.on('connect', (_request, socket) => refuse(socket, new ServiceError('method_not_allowed'), [`Allow: ${methods}`]));
  // Other expectations than 100-continue do not change the reply.
  server.on('checkExpectation', boundPipelining(listener));
  return server;
}

const unanswered = Symbol('unanswered requests');

type TrackedSocket = Socket & { [unanswered]?: Set<ServerResponse> };

/** One function for all responses: a closure for each costs more than the set. */
function forgetAnswered(this: ServerResponse): void {
  (this.req.socket as TrackedSocket)[unanswered]?.delete(this);
}

/** Older releases of Node 24 report the end of a connection only to the response whose turn it is. Without this, the other responses would never end. */
function closeQueued(this: TrackedSocket): void {
  for (const response of [...(this[unanswered] ?? [])]) {
    if (response.socket || response.destroyed || response.writableFinished) continue;
    response.destroy();
    response.emit('close');
  }
}

function track(socket: TrackedSocket): Set<ServerResponse> {
  const responses = new Set<ServerResponse>();
  socket[unanswered] = responses;
  socket.on('close', closeQueued);
  return responses;
}

/**
 * Closes a connection with too many unanswered requests. One read of 64 kB can hold 3,000 of them, which Node emits at once; no other
 * request would run until all of them were begun.
 */
function boundPipelining(listener: RequestListener): RequestListener {
  return (request, response) => {
    const socket: TrackedSocket = request.socket;
    if (socket.destroyed) return;
    const responses = socket[unanswered] ?? track(socket);
    if (responses.size >= maxPipelined) {
      socket.destroy();
      return;
    }
    responses.add(response);
    response.on('close', forgetAnswered);
    listener(request, response);
  };
}

function refuseBytes(socket: TrackedSocket, cause: NodeJS.ErrnoException): void {
  // The parser reports every further byte again.
  if (refusedSockets.has(socket) && cause.code !== 'ECONNRESET') return;
  if (cause.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const code = parserCodes[cause.code ?? ''];
  const error = code ? new ServiceError(code) : new ServiceError('invalid_request', { message: 'This is not a valid HTTP request.' });
  refusedSockets.add(socket);
  afterReplies(socket, () => refuse(socket, error));
}

/** Waits for the replies to whole requests on this connection: their client would take what is written before them for one of them. */
function afterReplies(socket: TrackedSocket, work: () => void): void {
  const waiting = new Set([...(socket[unanswered] ?? [])].filter(({ req }) => req.complete));
  if (waiting.size === 0) work();
  for (const response of waiting) {
    response.once('close', () => {
      waiting.delete(response);
      if (waiting.size === 0 && socket.writable) work();
    });
  }
}

/** Answers on the bare connection, and ends it. */
function refuse(socket: Duplex, error: PublicError, more: readonly string[] = []): void {
  refusedSockets.add(socket);
  const requestId = randomUUID();
  const body = errorBody(error, requestId);
  const { http } = error.definition;
  const headers = [
    ...pairs(apiHeaders),
    `X-Request-Id: ${requestId}`,
    'Cache-Control: no-store',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...more,
  ];
  socket.end(`HTTP/1.1 ${http} ${STATUS_CODES[http]}\r\n${headers.join('\r\n')}\r\n\r\n${body}`);
  discardRest(socket, () => (socket as Socket).destroySoon());
}

const pairs = (headers: readonly string[]) => headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));

interface ConnectionLimit {
  readonly CONNECTIONS_PER_ADDRESS: number;
  readonly TRUSTED_PROXIES: BlockList;
}

/**
 * Ends connections of an address that has too many open: each holds memory and a file descriptor before it has sent a byte. Those of a trusted
 * proxy are not limited.
 */
export function limitConnections(server: Server, { metrics }: ProcessContext, config: ConnectionLimit): void {
  const { CONNECTIONS_PER_ADDRESS: perAddress, TRUSTED_PROXIES: trusted } = config;
  const refusals = metrics.counter('connections_refused_total', 'Connections of addresses that have too many', []);
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const peer = socket.remoteAddress ?? '';
    if (isTrustedProxy(peer, trusted)) return;
    const address = countedAddress(clientAddress(peer, undefined, trusted));
    const count = open.get(address) ?? 0;
    if (count >= perAddress) {
      refusals.inc();
      socket.destroy();
      return;
    }
    open.set(address, count + 1);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  });
}
