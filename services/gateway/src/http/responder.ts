import type { ServiceError } from '@agent-service/contracts';
import { inRequestSpan } from '@agent-service/runtime';
import type { Request, RequestHandler, Response } from 'express';
import { errorReply, publicError } from './error-reply.ts';
import { Exchange } from './exchange.ts';
import type { Observer } from './observer.ts';
import { type Delivery, type Reply, type Stream, type StreamEnd, send } from './reply.ts';

export interface ResponderParts {
  readonly observer: Observer;
  readonly delivery: Delivery;
}

export type ErrorWriter = (exchange: Exchange, error: ServiceError) => Reply;

export type Work = (exchange: Exchange) => Promise<Reply> | Reply;

export type Responder = (route: string, work: Work, onError?: ErrorWriter) => RequestHandler;

interface Result {
  readonly reply: Reply;
  readonly error?: ServiceError;
}

/** Makes a handler that always answers: with what the work returns, or with what its failure means. */
export function createResponder({ observer, delivery }: ResponderParts): Responder {
  return (route, work, onError = errorReply) =>
    async (request: Request, response: Response) => {
      const exchange = new Exchange(request, response, route);
      const { reply, error } = await resultOf(exchange, work, onError);
      if (!exchange.abandoned) send(exchange, reply, delivery);
      if (reply.stream) {
        observer.finished(exchange, { status: reply.status, ...(await endOf(reply.stream, exchange)) });
        return;
      }
      observer.finished(exchange, { status: reply.status, bytes: reply.body ? Buffer.byteLength(reply.body) : 0, error });
    };
}

/** A stream that fails can not be answered with an error any more: its reader sees it break off. */
async function endOf(stream: Stream, { response }: Exchange): Promise<StreamEnd> {
  try {
    return await stream(response);
  } catch (cause) {
    response.destroy();
    return { bytes: 0, error: publicError(cause), cut: true };
  }
}

async function resultOf(exchange: Exchange, work: Work, onError: ErrorWriter): Promise<Result> {
  const { method, headers } = exchange.request;
  try {
    return { reply: await inRequestSpan(`${method} ${exchange.route}`, text(headers['traceparent']), async () => work(exchange)) };
  } catch (cause) {
    const error = publicError(cause);
    return { reply: onError(exchange, error), error };
  }
}

const text = (header: string | string[] | undefined) => (typeof header === 'string' ? header : undefined);
