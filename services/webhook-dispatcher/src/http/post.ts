import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

export interface Posted {
  status: number;
  retryAfter: string | undefined;
  /** Its first bytes. */
  body: Buffer;
}

export interface Posting {
  /** Rejects where there was no answer to its end, or to the limit of what is read. */
  readonly posted: Promise<Posted>;
  /** Lets go of it, wherever it is; what has not been sent is not sent any more. */
  abort(cause: Error): void;
}

/**
 * Sends a request and reads the beginning of its answer; the rest is not waited for, and its connection is not used again.
 * By undici's dispatch, since a stream and an abort signal for each request would cost as much as the request.
 */
export function post(agent: Dispatcher, request: Dispatcher.DispatchOptions, limit: number): Posting {
  const { promise: posted, resolve, reject } = Promise.withResolvers<Posted>();
  const chunks: Buffer[] = [];
  let [size, status] = [0, 0];
  let retryAfter: string | undefined;
  let running: Dispatcher.DispatchController | undefined;
  let aborted: Error | undefined;
  const answered = () => resolve({ status, retryAfter, body: Buffer.concat(chunks).subarray(0, limit) });

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      running = controller;
      if (aborted) controller.abort(aborted);
    },
    onResponseStart(_controller, statusCode, headers) {
      if (statusCode < 200) return;
      status = statusCode;
      retryAfter = first(headers['retry-after']);
    },
    onResponseData(controller, chunk) {
      chunks.push(chunk);
      size += chunk.length;
      if (size < limit) return;
      answered();
      controller.abort(new Error('read as far as it is wanted'));
    },
    onResponseEnd: answered,
    onResponseError: (_controller, cause) => reject(cause),
  };
  try {
    agent.dispatch(request, handler);
  } catch (cause) {
    reject(cause);
  }
  return {
    posted,
    abort(cause) {
      aborted = cause;
      running?.abort(cause);
      reject(cause);
    },
  };
}

const first = (value: IncomingHttpHeaders[string]) => (Array.isArray(value) ? value[0] : value);
