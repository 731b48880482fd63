import type { Command } from 'commander';
import { group } from './group.ts';
import { environmentOption, scopesOption, wholeNumber } from './options.ts';
import type { Run } from './run.ts';

interface Options {
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
    .action((options: Options) =>
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
