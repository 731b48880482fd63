import { type ServiceName, serviceKeysOf, serviceNames } from '@agent-service/contracts';
import { type Command, Option } from 'commander';
import { environmentOption, group, print, type Run, scopesOption, wholeNumber } from './commands.ts';
import { readServiceSecrets } from './connection.ts';

interface KeyOptions {
  organization: string;
  user: string;
  environment: string;
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
    .addOption(scopesOption())
    .option('--admin', 'may revoke keys and change settings, while its user is an administrator')
    .option('--token-ttl <seconds>', 'lifetime of tokens made from this key', wholeNumber)
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
}

interface OauthClientOptions {
  organization: string;
  environment: string;
  user?: string;
  scopes: string[];
}

export function oauthClientCommands(program: Command, run: Run): void {
  const verb = group(program, 'oauth-client', 'OAuth applications');
  verb('create', 'register an application; its secret is shown this once')
    .requiredOption('--organization <id>')
    .addOption(environmentOption())
    .option('--user <id>', 'whose it is; a new service user unless given')
    .addOption(scopesOption())
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
}

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
const callersOnly = ['gateway', 'answer-worker', 'webhook-dispatcher', 'operator'];

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
