import { scopesOfRole } from '@agent-service/contracts';
import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiParameters } from 'zod-openapi';
import { contentTypes } from '../http/body.ts';
import { isIdempotent, type OtherSuccess, type Route, successStatus } from '../routes/route.ts';
import { errorResponses } from './error-responses.ts';
import { limitHeaders, namedHeaders, replayedHeader, requestIdHeader } from './headers.ts';

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
    ...description(route),
    tags: [route.tag],
    security: security(route),
    requestParams: parameters(route),
    ...(route.body && {
      requestBody: { required: !route.bodyOptional, content: { [contentTypes[route.bodyType ?? 'json']]: { schema: route.body } } },
    }),
    responses: { ...successes(route), ...errorResponses(route) },
    ...(route.admin && { 'x-admin': true }),
    ...(needsAdministrator(route) && { 'x-role': 'admin' }),
    ...(route.extension && { 'x-extension': true }),
  };
}

const membersMay: readonly string[] = scopesOfRole({ role: 'member', environment: 'live' });

/** Whether a member is refused, whatever scopes the member's credential was given. */
const needsAdministrator = ({ scope, admin }: Route): boolean => admin === true || (scope !== undefined && !membersMay.includes(scope));

function description(route: Route) {
  const role = needsAdministrator(route) ? 'The role member excludes this: it needs an administrator.' : '';
  const text = [route.description ?? '', role].filter(Boolean).join('\n\n');
  return text ? { description: text } : {};
}

function security({ auth, scope }: Route): Record<string, string[]>[] {
  if (auth === 'none') return [];
  const needed = scope ? [scope] : [];
  return [{ bearer: needed }, { oauth: needed }];
}

function parameters(route: Route): ZodOpenApiParameters {
  const header = { ...(isIdempotent(route) && { 'Idempotency-Key': idempotencyKey }), ...route.headers?.shape };
  return {
    ...(route.params && { path: route.params }),
    ...(route.query && { query: route.query }),
    ...(Object.keys(header).length > 0 && { header: z.object(header) }),
  };
}

/** The route's own success, and the others by their status; those of one status differ in their content type. */
function successes(route: Route) {
  const own: OtherSuccess = {
    status: successStatus(route),
    description: 'Success.',
    ...(route.response && { schema: route.response }),
    headers: route.successHeaders ?? [],
  };
  const byStatus = Map.groupBy([own, ...(route.otherSuccesses ?? [])], ({ status }) => String(status));
  return Object.fromEntries([...byStatus].map(([status, ways]) => [status, success(route, ways)]));
}

function success(route: Route, ways: readonly OtherSuccess[]) {
  const own = namedHeaders(ways.flatMap(({ headers = [] }) => headers));
  const headers = { ...requestIdHeader, ...(route.cost && limitHeaders), ...(isIdempotent(route) && replayedHeader), ...own };
  const content = ways.flatMap(({ type = 'application/json', schema }) => (schema ? [[type, { schema }] as const] : []));
  const description = ways.map((way) => way.description).join('\n\n');
  return { description, headers, ...(content.length > 0 && { content: Object.fromEntries(content) }) };
}
