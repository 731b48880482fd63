import { ServiceError } from '@agent-service/contracts';
import type { z } from 'zod';
import type { Route, RouteRequest } from '../routes/route.ts';
import { contentTypes } from './body.ts';
import type { Exchange } from './exchange.ts';
import { fieldPath } from './field-path.ts';
import { parsePairs } from './pairs.ts';
import { validate } from './validate.ts';

/** Everything the caller sent, as the route's schemas have it. */
export function readInput(route: Route, { request, requestId }: Exchange, body: unknown): RouteRequest {
  return {
    params: route.params && validate(route.params, request.params),
    query: readQuery(route.query, request.url),
    body: route.body && validateBody(route, route.body, body),
    requestId,
  };
}

function readQuery(schema: z.ZodObject | undefined, url: string): unknown {
  const at = url.indexOf('?');
  const fields = at === -1 ? {} : parsePairs(url.slice(at + 1));
  if (schema) return validate(schema, fields);
  const [name] = Object.keys(fields);
  if (name === undefined) return undefined;
  const param = fieldPath([name]);
  throw new ServiceError('invalid_request', { message: `${param} is not known here; remove it.`, param });
}

function validateBody({ bodyType = 'json' }: Route, schema: z.ZodObject, body: unknown): unknown {
  if (body === undefined)
    throw new ServiceError('invalid_request', { message: `Send a body with Content-Type: ${contentTypes[bodyType]}.` });
  return validate(schema, body);
}
