import type { Command } from 'commander';
import { group } from './group.ts';
import { environmentOption, scopesOption } from './options.ts';
import type { Run } from './run.ts';

interface Options {
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
    .action(({ organization, environment, user, scopes }: Options) =>
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
