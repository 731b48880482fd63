import { ServiceError } from '@agent-service/contracts';
import type { Request, Response } from 'express';
import type { Responder } from './responder.ts';

const route = 'unmatched';

/** What no route took: an unknown path, or a path that can not even be read. */
export function createUnmatched(respond: Responder): (request: Request, response: Response, cause: unknown) => void {
  return (request, response, cause) => {
    const handler = respond(route, () => {
      throw failure(cause);
    });
    handler(request, response, () => undefined);
  };
}

function failure(cause: unknown): ServiceError {
  if (!cause) return new ServiceError('not_found', { message: 'There is no such path.' });
  if (cause instanceof URIError) return new ServiceError('invalid_request', { message: 'The path has invalid percent-encoding.' });
  return ServiceError.from(cause);
}
