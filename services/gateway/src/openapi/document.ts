import { scopes } from '@agent-service/contracts';
import { createDocument } from 'zod-openapi';
import type { Method, Route } from '../routes/route.ts';
import { sharedHeaders } from './headers.ts';
import { operation } from './operation.ts';

const version = '1.0.0';

const description = `Create AI agents over an organization's business data, talk to them, and see what the answers cost.

Operations marked \`x-extension\` go beyond the published specification. A GET can be asked for with HEAD as well; any other method
that a path does not list is answered 405 with \`Allow\`. Every failure has the body \`Error\`, the OAuth token endpoint's excepted.`;

type Document = ReturnType<typeof createDocument>;

/** The OpenAPI 3.1 document of these routes. */
export function createOpenApi(routes: readonly Route[], serverUrl: string): Document {
  return createDocument({
    openapi: '3.1.1',
    info: { title: 'Agent Service API', version, description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: serverUrl }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths: paths(routes),
    components: { headers: sharedHeaders, securitySchemes },
  });
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
