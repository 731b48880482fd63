import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { environmentOption, group, type Run, requireOrganization, type TenantOptions, withTenant } from './commands.ts';
import type { Connection } from './connection.ts';

/** Connecting waits for the organization's database, which may be slow to refuse. */
const connectLimitMs = 20_000;

interface ConnectOptions extends TenantOptions {
  url?: string;
  urlEnv?: string;
  caFile?: string;
  allowSuperuser?: boolean;
}

export function dataSourceCommands(program: Command, run: Run, env: NodeJS.ProcessEnv): void {
  const verb = group(program, 'data-source', "Organizations' own databases, which their agents answer from");
  withTenant(verb('connect', 'connect a PostgreSQL database, in place of the one connected before'))
    .option('--url <url>', 'postgres://user:password@host:port/database?sslmode=verify-full; sslmode may be left out for this host only')
    .option(
      '--url-env <name>',
      'the environment variable that holds the URL; a URL on the command line is visible in the list of processes',
    )
    .option('--ca-file <path>', "PEM file of the authority that the server's certificate comes from; TLS is then demanded and verified")
    .option('--allow-superuser', 'connect the account even if it is a superuser or may reach files or programs of its server')
    .action(({ organization, environment, caFile, allowSuperuser = false, ...target }: ConnectOptions) =>
      run(async ({ identity, agents }) => {
        const url = urlOf(target, env);
        const caCertificate = caFile === undefined ? '' : readFileSync(caFile, 'utf8');
        await requireOrganization({ identity }, organization);
        const request = { organizationId: organization, environment, url, caCertificate, allowSuperuser };
        const { dataSource, tables, roleGate } = await agents.connectDataSource(request, { timeoutMs: connectLimitMs });
        return { ...dataSourceOutput(dataSource), ...roleGateOutput(roleGate), tables };
      }),
    );
  withTenant(
    verb('test', 'ask the connected database whether it answers, which tables it has, and whether it lets scopes have roles'),
  ).action(({ organization, environment }: TenantOptions) =>
    run(async ({ agents }) => {
      const request = { organizationId: organization, environment };
      const tested = await agents.testDataSource(request, { timeoutMs: connectLimitMs });
      const { serverVersion: server_version, durationMs: duration_ms, tables } = tested;
      return { ...dataSourceOutput(tested.dataSource), ...roleGateOutput(tested.roleGate), server_version, duration_ms, tables };
    }),
  );
  verb('list', 'show what is connected, without passwords')
    .requiredOption('--organization <id>')
    .addOption(environmentOption().makeOptionMandatory(false))
    .action(({ organization, environment = '' }: { organization: string; environment?: string }) =>
      run(async ({ identity, agents }) => {
        await requireOrganization({ identity }, organization);
        const { dataSources } = await agents.listDataSources({ organizationId: organization, environment });
        return { data_sources: dataSources.map(dataSourceOutput) };
      }),
    );
  withTenant(verb('remove', 'disconnect the database; agents then answer without data')).action(
    ({ organization, environment }: TenantOptions) =>
      run(async ({ agents }) => {
        const { removed } = await agents.removeDataSource({ organizationId: organization, environment });
        if (!removed) process.exitCode = 1;
        const note = removed ? {} : { message: 'No data source is connected here.' };
        return { organization_id: organization, environment, removed, ...note };
      }),
  );
}

function urlOf({ url, urlEnv }: Pick<ConnectOptions, 'url' | 'urlEnv'>, env: NodeJS.ProcessEnv): string {
  if ((url === undefined) === (urlEnv === undefined))
    throw new Error('Give the URL with --url, or the name of its variable with --url-env.');
  const value = url ?? env[urlEnv ?? ''];
  if (!value) throw new Error(urlEnv === undefined ? '--url is empty.' : `The environment variable ${urlEnv} is not set.`);
  return value;
}

/** True if statements run under a database role that holds only their scope. */
const roleGateOutput = (gate: { readonly active: boolean; readonly reason: string } | null) => ({
  role_gate: gate?.active ? 'active' : 'not active',
  role_gate_reason: gate?.reason ?? '',
});

type DataSource = Awaited<ReturnType<Connection['agents']['listDataSources']>>['dataSources'][number];

function dataSourceOutput(source: DataSource | null) {
  const { organizationId = '', environment = '', host = '', port = 0, database = '', user = '', tls = '', version = 0 } = source ?? {};
  const { createdAt = '', updatedAt = '' } = source ?? {};
  return {
    organization_id: organizationId,
    environment,
    host,
    port,
    database,
    user,
    tls,
    version,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}
