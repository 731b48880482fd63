import type { ServerResponse } from 'node:http';
import type { ServiceError } from '@agent-service/contracts';
import { limitHeaders } from '../limits/limits.ts';
import { discardRest, hasUnreadBody } from '../requests/unread-body.ts';
import type { BufferedBytes } from './buffered-bytes.ts';
import type { Cors } from './cors.ts';
import type { Exchange } from './exchange.ts';
import { apiHeaders } from './security-headers.ts';

const jsonType = 'application/json; charset=utf-8';

/** The outcome of a streamed reply. */
export interface StreamEnd {
  readonly bytes: number;
  /** Why the stream ended before the reply was complete. */
  readonly error?: ServiceError | undefined;
  /** True if the reader disconnected before the end. */
  readonly cut: boolean;
}

/** Writes a reply in pieces and ends it. The head has been sent before. */
export type Stream = (response: ServerResponse) => Promise<StreamEnd>;

export interface Reply {
  readonly status: number;
  readonly body?: string | Buffer | undefined;
  readonly type?: string | undefined;
  /** Names and values in turn. */
  readonly headers?: readonly string[] | undefined;
  readonly cacheControl?: string | undefined;
  readonly security?: readonly string[] | undefined;
  /** The code of the error that the body describes. */
  readonly code?: string | undefined;
  /** Instead of a body. */
  readonly stream?: Stream | undefined;
}

export const jsonReply = (status: number, value: unknown): Reply => ({ status, body: JSON.stringify(value) });

/** Enough for 8 MB at 70 kB a second. */
const readWithinMs = 120_000;

/** Counts the unread rest of a reply for its organization, and closes the connection if it stays unread too long. */
function boundUnread(
  { request: { socket }, response, principal }: Exchange,
  { bufferedBytes, readWithinMs: limitMs = readWithinMs }: Delivery,
): void {
  const bytes = response.writableLength;
  if (bytes === 0) return;
  const release = principal && bufferedBytes.add(principal.organizationId, bytes);
  const timer = setTimeout(() => socket.destroy(), limitMs).unref();
  const end = () => {
    clearTimeout(timer);
    release?.();
    response.off('finish', end).off('close', end);
  };
  response.once('finish', end).once('close', end);
}

/** The process's part in sending a reply. */
export interface Delivery {
  /** Connections end with the replies they carry once this is aborted. */
  readonly stopping: AbortSignal;
  readonly bufferedBytes: BufferedBytes;
  readonly cors: Cors;
  readonly readWithinMs?: number;
}

/** Writes head and body at once; of a stream the head. After a body that was not read the connection ends. */
export function send(exchange: Exchange, reply: Reply, delivery: Delivery): void {
  const unread = hasUnreadBody(exchange.request, reply.status);
  const headers = headersOf(exchange, reply, delivery, delivery.stopping.aborted || unread);
  if (reply.stream) {
    headers.push('Content-Type', reply.type ?? jsonType);
    exchange.response.writeHead(reply.status, headers).flushHeaders();
    return;
  }
  if (reply.body === undefined) {
    exchange.response.writeHead(reply.status, headers).end();
    return;
  }
  headers.push('Content-Type', reply.type ?? jsonType, 'Content-Length', String(Buffer.byteLength(reply.body)));
  exchange.response.writeHead(reply.status, headers);
  if (!unread) {
    exchange.response.end(reply.body);
    exchange.request.resume();
    boundUnread(exchange, delivery);
    return;
  }
  // Its length tells the caller that the reply is complete.
  exchange.response.write(reply.body);
  discardRest(exchange.request, () => exchange.response.end());
}

function headersOf(exchange: Exchange, reply: Reply, { cors }: Delivery, closing: boolean): string[] {
  const headers = [
    ...(reply.security ?? apiHeaders),
    'X-Request-Id',
    exchange.requestId,
    'Cache-Control',
    reply.cacheControl ?? 'no-store',
    ...cors.headersFor(exchange.request),
  ];
  if (exchange.limits) headers.push(...limitHeaders(exchange.limits));
  if (exchange.routeHeaders) headers.push(...exchange.routeHeaders);
  if (exchange.replayed) headers.push('Idempotent-Replayed', 'true');
  if (closing) headers.push('Connection', 'close');
  if (reply.headers) headers.push(...reply.headers);
  return headers;
}
