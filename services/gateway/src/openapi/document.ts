import { type PublicErrorCode, publicErrorCodes, scopes, scopesOfRole } from '@agent-service/contracts';
import type { Method } from '@agent-service/http/app';
import { contentTypes } from '@agent-service/http/requests/body';
import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiParameters } from 'zod-openapi';
import { isIdempotent, type OtherSuccess, type Route, successStatus } from '../routing/route.ts';
import { errorEnvelope, oauthError } from '../schemas/errors.ts';
import { describeRequestSchema, describeResponseSchema } from './body-schemas.ts';
import { completeDocument } from './complete.ts';
import { deprecationHeaders, errorHeaders, limitHeaders, namedHeaders, replayedHeader, requestIdHeader, sharedHeaders } from './headers.ts';

const version = '1.0.0';

const introduction = `Create AI agents over an organization's business data, talk to them, and see what the answers cost.

Operations marked \`x-extension\` go beyond the published specification. A GET can be asked for with HEAD as well; any other method
that a path does not list is answered 405 with \`Allow\`. Every failure has the body \`Error\`, the OAuth token endpoint's excepted. Times in
answers are in UTC and end in Z.`;

type Document = ReturnType<typeof createDocument>;

const tags: Readonly<Record<string, string>> = {
  Authentication: 'Access tokens from API keys and OAuth applications, and tokens for end users.',
  'API keys': 'Create, change, replace and revoke the keys of the environment.',
  'OAuth applications': 'Programs that authenticate with OAuth 2.0 client credentials.',
  Agents: 'Agents answer messages over the tables that their data scope names.',
  Conversations: 'Messages to agents, their answers, and the conversations that they form.',
  'Data source': 'The business data that agents read.',
  Templates: 'Agents that are ready to use, by category.',
  Users: 'The people of the organization.',
  Audit: 'Who changed what, in a chain that shows any later change.',
  Credits: 'Balances, allocations, usage and how credits are replenished.',
  Webhooks: 'Where events are sent, and what became of each delivery.',
};

/** The OpenAPI 3.1 document of these routes. */
export function createOpenApi(routes: readonly Route[], serverUrl: string): Document {
  const contents: Parameters<typeof createDocument>[0] = {
    openapi: '3.1.1',
    info: {
      title: 'Agent Service API',
      version,
      description: introduction,
      contact: { name: 'The operator of this service' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name, description: tags[name] ?? name })),
    paths: paths(routes),
    components: { headers: sharedHeaders, securitySchemes },
  };
  const document = createDocument(contents, {
    override: ({ jsonSchema, io }) => (io === 'output' ? describeResponseSchema : describeRequestSchema)(jsonSchema),
  });
  // A copy, since parts that operations share would be completed twice.
  const own = structuredClone(document);
  completeDocument(own, new Map(routes.map((route) => [route.operationId, codesOf(route)])));
  return own;
}

function paths(routes: readonly Route[]) {
  const groups = Map.groupBy(routes, ({ path }) => path);
  return Object.fromEntries(
    [...groups].map(([path, group]) => [path, Object.fromEntries(group.map((route) => [verb(route), operation(route)]))]),
  );
}

const verb = ({ method }: Route) => method.toLowerCase() as Lowercase<Method>;

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key (`sa_live_…`, `sa_test_…`) or an access token.' },
  oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/v1/auth/oauth/token', scopes } } },
} as const;

const idempotencyKey = z.string().optional().meta({
  description: 'Makes the request repeatable: the same key with the same body has its effect once, within 24 hours.',
  minLength: 1,
  maxLength: 255,
  // HTTP cuts spaces at both ends.
  pattern: '^[!-~]([ -~]*[!-~])?$',
});

/** One operation of the document. */
function operation(route: Route): ZodOpenApiOperationObject {
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...describe(route),
    tags: [route.tag],
    security: security(route),
    requestParams: parameters(route),
    ...(route.body && {
      requestBody: {
        required: !route.bodyOptional,
        content: { [contentTypes[route.bodyType ?? 'json']]: { schema: route.body, example: exampleOf(route.body) } },
      },
    }),
    responses: { ...successes(route), ...errorResponses(route) },
    ...(route.admin && { 'x-admin': true }),
    ...(needsAdministrator(route) && { 'x-role': 'admin' }),
    ...(route.deprecation && { deprecated: true, ...(route.deprecation.sunset && { 'x-sunset': route.deprecation.sunset }) }),
    ...(route.extension && { 'x-extension': true }),
  };
}

/** A body that works as it is: its own example, or every field that has one. Fields that name what has to exist have none. */
export const exampleOf = (schema: z.ZodObject): Record<string, unknown> =>
  (schema.meta()?.example as Record<string, unknown> | undefined) ??
  Object.fromEntries(
    Object.entries(schema.shape).flatMap(([name, field]) => {
      const example = exampleIn(field as z.ZodType);
      return example === undefined ? [] : [[name, example]];
    }),
  );

function exampleIn(field: z.ZodType): unknown {
  const example = field.meta()?.example;
  if (example !== undefined) return example;
  const inner = field instanceof z.ZodOptional || field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : undefined;
  return inner && exampleIn(inner);
}

const membersMay: readonly string[] = scopesOfRole({ role: 'member', environment: 'live' });

/** True if a member is refused, whichever scopes the credential has. */
const needsAdministrator = ({ scope, admin }: Route): boolean => admin === true || (scope !== undefined && !membersMay.includes(scope));

function describe(route: Route) {
  const role = needsAdministrator(route) ? 'The role member excludes this: it needs an administrator.' : '';
  const { since, sunset, link } = route.deprecation ?? {};
  const replaced = since ? `Deprecated since ${since}${sunset ? `, and may be gone from ${sunset} on` : ''}: see ${link}.` : '';
  const text = [replaced, route.description ?? '', role].filter(Boolean).join('\n\n');
  // The summary says all there is to say about a plain read.
  return { description: text || `${route.summary}.` };
}

function security({ auth, scope }: Route): Record<string, string[]>[] {
  if (auth === 'none') return [];
  const needed = scope ? [scope] : [];
  // Scopes are a part of OAuth; those of an API key are the same.
  return [{ bearer: [] }, { oauth: needed }];
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
    ...(route.responseType && { type: route.responseType }),
    example: route.responseExample,
    headers: route.successHeaders ?? [],
  };
  const byStatus = Map.groupBy([own, ...(route.otherSuccesses ?? [])], ({ status }) => String(status));
  return Object.fromEntries([...byStatus].map(([status, ways]) => [status, success(route, ways)]));
}

function success(route: Route, ways: readonly OtherSuccess[]) {
  const own = namedHeaders(ways.flatMap(({ headers = [] }) => headers));
  const headers = {
    ...requestIdHeader,
    ...(route.cost && limitHeaders),
    ...(route.deprecation && deprecationHeaders),
    ...(isIdempotent(route) && replayedHeader),
    ...own,
  };
  const content = ways.flatMap(({ type = 'application/json', schema, example }) => (schema ? [[type, { schema, example }] as const] : []));
  const description = ways.map((way) => way.description).join('\n\n');
  return { description, headers, ...(content.length > 0 && { content: Object.fromEntries(content) }) };
}

/** Every way in which a request to this route can fail, by status. */
function errorResponses(route: Route) {
  const byStatus = Map.groupBy(codesOf(route), (code) => publicErrorCodes[code].http);
  const content = { 'application/json': { schema: route.errorForm === 'oauth' ? oauthError : errorEnvelope } };
  const responses = [...byStatus].map(([status, codes]) => {
    const headers = { ...requestIdHeader, ...errorHeaders(status), ...(route.cost && isCounted(route, status) && limitHeaders) };
    return [
      String(status),
      { description: codes.map((code) => `\`${code}\`: ${publicErrorCodes[code].message}`).join('\n\n'), headers, content },
    ];
  });
  return Object.fromEntries(responses.sort(([a], [b]) => Number(a) - Number(b)));
}

/** A caller without a valid token is refused before any limit is counted. */
const isCounted = ({ auth }: Route, status: number) => auth === 'none' || status !== 401;

function codesOf(route: Route): PublicErrorCode[] {
  const codes: PublicErrorCode[] = ['invalid_request', 'headers_too_large', 'unavailable', 'deadline_exceeded', 'internal'];
  if (route.auth === 'token') codes.push('missing_token', 'invalid_token', 'token_expired', 'token_revoked', 'wrong_audience');
  if (route.scope) codes.push('insufficient_scope');
  if (route.admin) codes.push('admin_required');
  if (route.params) codes.push('not_found');
  if (route.cost || route.auth === 'token') codes.push('rate_limited');
  // A write without a body in its contract reads one that its request declares, to refuse it.
  if (route.method !== 'GET') codes.push('request_timeout');
  if (route.body) codes.push('payload_too_large', 'unsupported_media_type');
  if (route.body && route.bodyType !== 'form') codes.push('invalid_json');
  if (isIdempotent(route)) codes.push('idempotency_key_reused');
  // A repeated message waits for the answer of the first.
  if (isIdempotent(route) && route.cost !== 'message') codes.push('idempotency_in_progress');
  return [...new Set([...codes, ...(route.errors ?? [])])];
}
