import { randomUUID } from 'node:crypto';
import type { Principal } from '@agent-service/contracts';
import type { Request, Response } from 'express';
import type { Decision } from '../limits/limits.ts';

/** One request and its reply, with what became known about it on the way. */
export class Exchange {
  readonly request: Request;
  readonly response: Response;
  /** The route's path template: what logs and metrics call the request. */
  readonly route: string;
  readonly requestId: string;
  readonly startedAt = performance.now();
  principal: Principal | undefined;
  limits: Decision | undefined;
  /** The headers of every reply of the route, names and values in turn. */
  routeHeaders: readonly string[] | undefined;
  /** The outcome of an earlier identical request is returned. */
  replayed = false;

  constructor(request: Request, response: Response, route: string) {
    this.request = request;
    this.response = response;
    this.route = route;
    this.requestId = requestIdOf(request.get('x-request-id'));
  }

  /** The client has disconnected. */
  get abandoned(): boolean {
    return this.response.destroyed || this.request.socket.destroyed;
  }
}

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's own id where it is one, else a new one. */
export const requestIdOf = (header: string | undefined): string =>
  header !== undefined && acceptable.test(header) ? header : randomUUID();

const disconnection = Symbol('disconnection');

function abortUnlessAnswered(this: Response & { [disconnection]?: AbortController }): void {
  if (!this.writableEnded) this[disconnection]?.abort();
}

/** Aborted when the client disconnects before it has its reply, or has disconnected already. */
export function abortedWithClient({ response, abandoned }: Pick<Exchange, 'response' | 'abandoned'>): AbortSignal {
  const watched: Response & { [disconnection]?: AbortController } = response;
  const known = watched[disconnection];
  if (known) return known.signal;
  const abort = new AbortController();
  watched[disconnection] = abort;
  if (abandoned) abort.abort();
  else response.on('close', abortUnlessAnswered);
  return abort.signal;
}
