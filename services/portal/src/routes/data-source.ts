import type { Client, Environment } from '@agent-service/contracts';
import { jsonReply } from '@agent-service/http/replies/reply';
import { z } from 'zod';
import { administratorRoute, type Backends, type Input, type PortalRoute, type SignedInRequest } from './route.ts';

/** A database may be slow to refuse. */
const limitMs = 20_000;
const timeoutMs = 18_000;

type Agents = Client<'agents'>;
type DataSource = Awaited<ReturnType<Agents['listDataSources']>>['dataSources'][number];
type Survey = Pick<Awaited<ReturnType<Agents['connectDataSource']>>, 'tables' | 'roleGate'>;

/** Leaves out the address and account if an operator connected the data source. The service agents never returns the password. */
const describe = ({ host, port, database, user, tls, version, guarded, createdAt, updatedAt }: DataSource) => ({
  connected_by: guarded ? 'user' : 'operator',
  ...(guarded ? { host, port, database, user, tls } : { host: null, port: null, database: null, user: null, tls: null }),
  version,
  created_at: createdAt,
  updated_at: updatedAt,
});

const describeSurvey = ({ tables, roleGate }: Survey) => ({
  tables: tables.length,
  role_gate: { active: roleGate?.active ?? false, reason: roleGate?.reason ?? '' },
});

const connection = {
  url: z.string().min(1).max(2_000),
  ca_certificate: z.string().max(100_000).default(''),
};

type Call<Body> = (request: SignedInRequest<Body>, deps: { agents: Agents; accessToken: string }) => Promise<object | undefined>;

/** One route for each environment. A call of agents carries a token of the user, like a request that is forwarded to a gateway. */
function routesOf<Body extends z.ZodObject | undefined = undefined>(
  method: PortalRoute['method'],
  path: string,
  handler: Call<Input<Body>>,
  body?: Body,
): PortalRoute[] {
  return (['live', 'test'] as const).map((environment: Environment) =>
    administratorRoute<Body>({
      method,
      path: `/api/${environment}${path}`,
      limitMs,
      ...(body && { body }),
      async handler(request, { agents, sessions }: Backends) {
        const data = await sessions.withApiToken(request.session, environment, (accessToken) =>
          handler(request as never, { agents, accessToken }),
        );
        return data === undefined ? { status: 204 } : jsonReply(200, { data });
      },
    }),
  );
}

const read = routesOf('GET', '/data-source', async (_request, { agents, accessToken }) => {
  const { dataSources } = await agents.listDataSources({ accessToken });
  const [dataSource] = dataSources;
  return { data_source: dataSource ? describe(dataSource) : null };
});

const connect = routesOf(
  'PUT',
  '/data-source',
  async ({ body: { url, ca_certificate: caCertificate } }, { agents, accessToken }) => {
    const { dataSource, ...survey } = await agents.connectDataSource({ url, caCertificate, accessToken }, { timeoutMs });
    return { data_source: dataSource && describe(dataSource), ...describeSurvey(survey) };
  },
  z.strictObject(connection),
);

/** Without a URL the connected database is tested. */
const test = routesOf(
  'POST',
  '/data-source/test',
  async ({ body: { url, ca_certificate: caCertificate } }, { agents, accessToken }) => {
    const tested = await agents.testDataSource({ url, caCertificate, accessToken }, { timeoutMs });
    return { ...describeSurvey(tested), server_version: tested.serverVersion, duration_ms: tested.durationMs };
  },
  z.strictObject({ ...connection, url: z.string().max(2_000).default('') }),
);

const remove = routesOf('DELETE', '/data-source', async (_request, { agents, accessToken }) => {
  await agents.removeDataSource({ accessToken });
  return undefined;
});

export const dataSourceRoutes: readonly PortalRoute[] = [...read, ...connect, ...test, ...remove];
