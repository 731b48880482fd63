import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiParameters } from 'zod-openapi';
import { contentTypes } from '../http/body.ts';
import { isIdempotent, type Route, successStatus } from '../routes/route.ts';
import { errorResponses } from './error-responses.ts';
import { limitHeaders, replayedHeader, requestIdHeader } from './headers.ts';

const idempotencyKey = z.string().optional().meta({
  description: 'Makes the request repeatable: the same key with the same body has its effect once, within 24 hours.',
  minLength: 1,
  maxLength: 255,
});

/** One operation of the document. */
export function operation(route: Route): ZodOpenApiOperationObject {
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.description && { description: route.description }),
    tags: [route.tag],
    security: security(route),
    requestParams: parameters(route),
    ...(route.body && { requestBody: { required: true, content: { [contentTypes[route.bodyType ?? 'json']]: { schema: route.body } } } }),
    responses: { [String(successStatus(route))]: success(route), ...errorResponses(route) },
    ...(route.admin && { 'x-admin': true }),
    ...(route.extension && { 'x-extension': true }),
  };
}

function security({ auth, scope }: Route): Record<string, string[]>[] {
  if (auth === 'none') return [];
  const needed = scope ? [scope] : [];
  return [{ bearer: needed }, { oauth: needed }];
}

function parameters(route: Route): ZodOpenApiParameters {
  return {
    ...(route.params && { path: route.params }),
    ...(route.query && { query: route.query }),
    ...(isIdempotent(route) && { header: z.object({ 'Idempotency-Key': idempotencyKey }) }),
  };
}

function success(route: Route) {
  const headers = { ...requestIdHeader, ...(route.cost && limitHeaders), ...(isIdempotent(route) && replayedHeader) };
  const content = route.response && { content: { 'application/json': { schema: route.response } } };
  return { description: 'Success.', headers, ...content };
}
