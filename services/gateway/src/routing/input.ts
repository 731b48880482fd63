import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type IdempotencyKey, type Principal, ServiceError } from '@agent-service/contracts';
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

const printable = /^[\x20-\x7e]{1,255}$/;

/** Two requests with the same tenant, credential (of an end user: token), method, path and caller's key are one request, and must have the same body. */
export function idempotencyKey(
  header: string | undefined,
  principal: Principal,
  method: string,
  path: string,
  body: unknown,
): IdempotencyKey | undefined {
  if (header === undefined) return undefined;
  if (!printable.test(header))
    throw new ServiceError('invalid_request', {
      message: 'Idempotency-Key must have 1 to 255 printable ASCII characters.',
      param: 'Idempotency-Key',
    });
  const { organizationId, environment, credentialId, tokenId, userId } = principal;
  // A user of the portal may repeat a request in another session, so the user counts and not the session.
  const credential = tokenId || (credentialId.startsWith('ses_') ? userId : credentialId);
  return {
    scope: [organizationId, environment, credential, method, path, header].join(' '),
    fingerprint: hash('sha256', canonicalJson(body), 'base64url'),
  };
}

/** Writes equal values as the same text, in any order of their fields. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => (isPlainObject(inner) ? sortKeys(inner) : inner)) ?? '';
}

export const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function sortKeys(object: Record<string, unknown>): Record<string, unknown> {
  const copy: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(object).sort()) copy[key] = object[key];
  return copy;
}
