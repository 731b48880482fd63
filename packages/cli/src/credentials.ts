import { type ServiceName, serviceKeysOf, serviceNames } from '@agent-service/contracts';
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  environmentOption,
  group,
  inOrganization,
  type PageOptions,
  pageOutput,
  print,
  type Run,
  requireOrganization,
  scopesOption,
  type TenantOptions,
  wholeNumber,
  withPages,
  withTenant,
} from './commands.ts';
import { type Connection, readServiceSecrets } from './connection.ts';

interface KeyOptions extends TenantOptions {
  user: string;
  scopes: string[];
  admin?: boolean;
  tokenTtl?: number;
}

export function keyCommands(program: Command, run: Run): void {
  const verb = group(program, 'key', 'API keys');
  verb('create', 'make a key; it is shown this once')
    .requiredOption('--organization <id>')
    .requiredOption('--user <id>')
    .addOption(environmentOption())
    .addOption(scopesOption('all of the role of the user'))
    .option('--admin', 'may revoke keys and change settings, while its user is an administrator')
    .option('--token-ttl <seconds>', 'lifetime of tokens made from this key; the default of the service unless given', tokenTtl)
    .action((options: KeyOptions) =>
      run(async ({ identity }) => {
        const { organization, user, environment, scopes, admin, tokenTtl } = options;
        const created = await identity.createKey({
          organizationId: organization,
          userId: user,
          environment,
          scopes,
          admin: admin === true,
          tokenTtlSeconds: tokenTtl ?? 0,
        });
        return { key_id: created.keyId, api_key: created.apiKey };
      }),
    );
  verb('revoke', 'end a key and every token made from it')
    .requiredOption('--key <id>')
    .action(({ key }: { key: string }) =>
      run(async ({ identity }) => {
        await identity.revokeKey({ keyId: key });
        return { key_id: key, revoked: true };
      }),
    );
  withPages(withTenant(verb('list', 'show the keys without their secrets, newest first')))
    .option('--user <id>', 'of this user', '')
    .addOption(statusOption())
    .action(({ limit, after, user, status = '', ...tenant }: CredentialListOptions & { user: string }) =>
      run(async ({ identity }) => {
        await requireOrganization({ identity }, tenant.organization);
        const request = { page: { limit, cursor: after }, userId: user, status };
        const { keys, page } = await inOrganization(tenant, () => identity.listKeys(request));
        return { keys: keys.map(keyOutput), ...pageOutput(page) };
      }),
    );
  withTenant(verb('show', 'show one without its secret'))
    .requiredOption('--key <id>')
    .action(({ key: keyId, ...tenant }: TenantOptions & { key: string }) =>
      run(async ({ identity }) => keyOutput((await inOrganization(tenant, () => identity.getKey({ keyId }))).key)),
    );
}

/** The service takes 0 as its default. */
function tokenTtl(text: string): number {
  const seconds = wholeNumber(text);
  if (seconds > 0) return seconds;
  throw new InvalidArgumentError('It must be above 0.');
}

type CredentialListOptions = TenantOptions & PageOptions & { status?: string };

const statusOption = () => new Option('--status <status>', 'both unless given').choices(['active', 'ended']);

type Key = Awaited<ReturnType<Connection['identity']['getKey']>>['key'];

const keyOutput = (key: Key) => ({
  id: key?.id ?? '',
  name: key?.name ?? '',
  hint: key?.hint ?? '',
  user_id: key?.userId ?? '',
  admin: key?.admin ?? false,
  created_at: key?.createdAt ?? '',
  last_used_at: key?.lastUsedAt ?? '',
  ends_at: key?.endsAt ?? '',
  replaced_by: key?.replacedBy ?? '',
  scopes: key?.scopes ?? [],
});

interface OauthClientOptions extends TenantOptions {
  user?: string;
  scopes: string[];
}

export function oauthClientCommands(program: Command, run: Run): void {
  const verb = group(program, 'oauth-client', 'OAuth applications');
  withTenant(verb('create', 'register an application; its secret is shown this once'))
    .option('--user <id>', 'whose it is; a new service user unless given')
    .addOption(scopesOption('every scope, or all of the role of --user,'))
    .action(({ organization, environment, user, scopes }: OauthClientOptions) =>
      run(async ({ identity }) => {
        const created = await identity.createOauthClient({ organizationId: organization, environment, userId: user ?? '', scopes });
        return { client_id: created.clientId, client_secret: created.clientSecret, user_id: created.userId };
      }),
    );
  verb('revoke', 'end an application and every token made by it')
    .requiredOption('--client <id>')
    .action(({ client }: { client: string }) =>
      run(async ({ identity }) => {
        await identity.revokeOauthClient({ clientId: client });
        return { client_id: client, revoked: true };
      }),
    );
  withPages(withTenant(verb('list', 'show the applications without their secrets, newest first')))
    .addOption(statusOption())
    .action(({ limit, after, status = '', ...tenant }: CredentialListOptions) =>
      run(async ({ identity }) => {
        await requireOrganization({ identity }, tenant.organization);
        const request = { page: { limit, cursor: after }, status };
        const { applications, page } = await inOrganization(tenant, () => identity.listOauthApplications(request));
        return { applications: applications.map(applicationOutput), ...pageOutput(page) };
      }),
    );
  withTenant(verb('show', 'show one without its secret'))
    .requiredOption('--client <id>')
    .action(({ client: applicationId, ...tenant }: TenantOptions & { client: string }) =>
      run(async ({ identity }) =>
        applicationOutput((await inOrganization(tenant, () => identity.getOauthApplication({ applicationId }))).application),
      ),
    );
}

type Application = Awaited<ReturnType<Connection['identity']['getOauthApplication']>>['application'];

const applicationOutput = (application: Application) => ({
  client_id: application?.id ?? '',
  name: application?.name ?? '',
  user_id: application?.userId ?? '',
  created_at: application?.createdAt ?? '',
  last_used_at: application?.lastUsedAt ?? '',
  ends_at: application?.endsAt ?? '',
  previous_secret_ends_at: application?.previousSecretEndsAt ?? '',
  scopes: application?.scopes ?? [],
});

export function signingKeyCommands(program: Command, run: Run): void {
  const verb = group(program, 'signing-key', 'Keys that access tokens are signed with');
  verb('rotate', 'sign new tokens with a new key; tokens signed before stay valid').action(() =>
    run(async ({ identity }) => ({ kid: (await identity.rotateSigningKey({})).kid })),
  );
  verb('revoke', 'end a key that leaked: every token signed with it is refused everywhere, and a new key signs')
    .requiredOption('--key <kid>')
    .action(({ key }: { key: string }) =>
      run(async ({ identity }) => {
        const { signingKid } = await identity.revokeSigningKey({ kid: key });
        return { kid: key, revoked: true, signing_kid: signingKid };
      }),
    );
}

/** Processes that sign calls and receive none. */
const callersOnly = ['gateway', 'portal', 'answer-worker', 'webhook-dispatcher', 'operator'];

export function serviceKeyCommands(program: Command, env: NodeJS.ProcessEnv): void {
  const verb = group(program, 'service-keys', 'Keys that services sign their calls with');
  verb('print', 'print the SERVICE_KEYS of one service, derived from the SERVICE_SECRET that only the operator keeps')
    .addOption(new Option('--service <name>').choices([...serviceNames, ...callersOnly]).makeOptionMandatory())
    .action(({ service }: { service: string }) => {
      const isServer = serviceNames.includes(service as ServiceName);
      const callees = serviceNames.filter((name) => name !== service);
      const keys = serviceKeysOf(readServiceSecrets(env), service, callees, isServer);
      print({ SERVICE_KEYS: keys }, program.opts<{ json?: boolean }>().json === true);
    });
}
