import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '@agent-service/contracts';
import type { Exchange } from '@agent-service/http/replies/exchange';
import { contentTypes } from '@agent-service/http/requests/body';
import { parsePairs } from '@agent-service/http/requests/pairs';
import { fieldPath, validate } from '@agent-service/http/requests/validate';
import type { z } from 'zod';
import type { Route, RouteInput } from './route.ts';

/** Validates the input of the caller by the schemas of the route. */
export function readInput(route: Route, { request, requestId }: Exchange, body: unknown): RouteInput {
  return {
    params: route.params && validate(route.params, request.params),
    query: readQuery(route.query, request.url),
    body: route.body && validateBody(route, route.body, body),
    headers: route.headers && readHeaders(route.headers, request.headers),
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

/** The headers of the route's schema, under the names of the schema. */
function readHeaders(schema: z.ZodObject, headers: IncomingHttpHeaders): unknown {
  const fields: Record<string, unknown> = {};
  for (const name of Object.keys(schema.shape)) fields[name] = headers[name.toLowerCase()];
  return validate(schema, fields);
}

function validateBody({ bodyType = 'json', bodyOptional }: Route, schema: z.ZodObject, body: unknown): unknown {
  if (body === undefined && bodyOptional) return validate(schema, {});
  if (body === undefined)
    throw new ServiceError('invalid_request', { message: `Send a body with Content-Type: ${contentTypes[bodyType]}.` });
  return validate(schema, body);
}
