import type { IncomingHttpHeaders } from 'node:http';
import { JoinedBytes, limitInformational } from '@agent-service/outbound';
import { processClock } from '@agent-service/runtime';
import type { Dispatcher } from 'undici';
import { signatureHeaders } from './signatures.ts';

const attemptLimitMs = 15_000;
const maxReadBytes = 16 * 1024;
const maxBodyLetters = 1_024;

export interface Attempt {
  readonly url: string;
  readonly eventId: string;
  readonly body: string;
  readonly secrets: readonly string[];
}

export type AttemptOutcome =
  | { kind: 'answered'; status: number; body: string; retryAfterMs: number; durationMs: number }
  | { kind: 'unanswered'; reason: FailureReason; durationMs: number }
  /** The process stops, and it is not known whether the receiver has got the event. */
  | { kind: 'stopped' };

/** Posts an event to a receiver and reads the beginning of the response, within 15 seconds. A failure to do so is an outcome, and not an error. */
export async function send(agent: Dispatcher, attempt: Attempt, stopping: AbortSignal, limitMs = attemptLimitMs): Promise<AttemptOutcome> {
  const startedAt = performance.now();
  const duration = () => Math.round(performance.now() - startedAt);
  if (stopping.aborted) return { kind: 'stopped' };
  const request = post(agent, toRequest(attempt), maxReadBytes);
  let isOverdue = false;
  const timer = setTimeout(() => {
    isOverdue = true;
    request.abort(new Error('the receiver took too long'));
  }, limitMs);
  const stop = () => request.abort(new Error('the process stops'));
  stopping.addEventListener('abort', stop, { once: true });
  try {
    const { status, retryAfter, body } = await request.response;
    const text = utf8.decode(body).slice(0, maxBodyLetters);
    return { kind: 'answered', status, body: text, retryAfterMs: readRetryAfter(retryAfter, processClock.now()), durationMs: duration() };
  } catch (cause) {
    if (stopping.aborted) return { kind: 'stopped' };
    return { kind: 'unanswered', reason: isOverdue ? 'timeout' : failureReason(cause), durationMs: duration() };
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', stop);
  }
}

const utf8 = new TextDecoder();

function toRequest({ url, eventId, body, secrets }: Attempt): Dispatcher.DispatchOptions {
  const { origin, pathname, search } = new URL(url);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Agent-Service-Webhooks/1',
    ...signatureHeaders({ eventId, body, secrets, nowMs: processClock.now() }),
  };
  return { origin, path: `${pathname}${search}`, method: 'POST', headers, body };
}

interface ReceiverResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The first bytes of the body. */
  readonly body: Buffer;
}

interface Request {
  /** Rejects if the response does not reach its end or the limit. */
  readonly response: Promise<ReceiverResponse>;
  /** Ends the request, and does not send it if it has not been sent. */
  abort(cause: Error): void;
}

/**
 * Sends a request and reads the beginning of the response; a longer response ends its connection. It uses undici's dispatch, because a stream and
 * an abort signal for each request cost as much as the request.
 */
function post(agent: Dispatcher, options: Dispatcher.DispatchOptions, limit: number): Request {
  const { promise: response, resolve, reject } = Promise.withResolvers<ReceiverResponse>();
  const body = new JoinedBytes();
  const countInformational = limitInformational();
  let status = 0;
  let retryAfter: string | undefined;
  let running: Dispatcher.DispatchController | undefined;
  let aborted: Error | undefined;
  const complete = () => resolve({ status, retryAfter, body: body.all().subarray(0, limit) });

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      running = controller;
      if (aborted) controller.abort(aborted);
    },
    onResponseStart(controller, statusCode, headers) {
      if (statusCode < 200) return countInformational(controller);
      status = statusCode;
      retryAfter = firstValue(headers['retry-after']);
    },
    onResponseData(controller, chunk) {
      body.add(chunk);
      if (body.size < limit) return;
      complete();
      controller.abort(new Error('the response is longer than the limit'));
    },
    onResponseEnd: complete,
    onResponseError: (_controller, cause) => reject(cause),
  };
  try {
    agent.dispatch(options, handler);
  } catch (cause) {
    reject(cause);
  }
  return {
    response,
    abort(cause) {
      aborted = cause;
      running?.abort(cause);
      reject(cause);
    },
  };
}

const firstValue = (value: IncomingHttpHeaders[string]) => (Array.isArray(value) ? value[0] : value);

/** The pause that a Retry-After header requests, in milliseconds; 0 without a valid header. */
export function readRetryAfter(header: string | undefined, nowMs: number): number {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // An HTTP date begins with the name of the day; Date.parse accepts other texts as well.
  if (!/^(mon|tue|wed|thu|fri|sat|sun)/i.test(text)) return 0;
  const at = Date.parse(text);
  return Number.isNaN(at) ? 0 : Math.max(0, at - nowMs);
}

export type FailureReason = 'timeout' | 'connect_timeout' | 'name_not_found' | 'address_refused' | 'tls' | 'protocol' | 'connection';

const reasons: Readonly<Record<string, FailureReason>> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  ENOTFOUND: 'name_not_found',
  EAI_AGAIN: 'name_not_found',
  ADDRESS_REFUSED: 'address_refused',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
};

const tlsCode = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH)/;
const protocolCode = /^HPE_/;

/** Why a receiver did not answer, from the codes of an error and of its causes. */
export function failureReason(cause: unknown): FailureReason {
  const codes = codesOf(cause);
  for (const code of codes) {
    const reason = reasons[code];
    if (reason) return reason;
  }
  if (codes.some((code) => tlsCode.test(code))) return 'tls';
  return codes.some((code) => protocolCode.test(code)) ? 'protocol' : 'connection';
}

interface ErrorWithCode {
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown[];
}

function codesOf(cause: unknown, depth = 0): string[] {
  if (typeof cause !== 'object' || cause === null || depth > 4) return [];
  const { code, cause: inner, errors = [] } = cause as ErrorWithCode;
  return [...(typeof code === 'string' ? [code] : []), ...[inner, ...errors].flatMap((each) => codesOf(each, depth + 1))];
}
