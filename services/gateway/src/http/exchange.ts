import type { Principal } from '@agent-service/contracts';
import type { Request, Response } from 'express';
import type { Decision } from '../limits/limiter.ts';
import { requestIdOf } from './request-id.ts';

/** One request and its answer, with what became known about it on the way. */
export class Exchange {
  readonly request: Request;
  readonly response: Response;
  /** The route's path template: what logs and metrics call the request. */
  readonly route: string;
  readonly requestId: string;
  readonly startedAt = performance.now();
  principal: Principal | undefined;
  limits: Decision | undefined;
  /** The outcome of an earlier identical request is returned. */
  replayed = false;

  constructor(request: Request, response: Response, route: string) {
    this.request = request;
    this.response = response;
    this.route = route;
    this.requestId = requestIdOf(request.get('x-request-id'));
  }

  /** Nobody is there any more to read the answer. */
  get abandoned(): boolean {
    return this.response.destroyed || this.request.socket.destroyed;
  }
}
