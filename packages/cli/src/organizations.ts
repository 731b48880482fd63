import type { Command } from 'commander';
import { group } from './group.ts';
import type { Run } from './run.ts';

export function organizationCommands(program: Command, run: Run): void {
  const verb = group(program, 'organization', 'Organizations');
  verb('create', 'make an organization with its first administrator and a key in each environment')
    .requiredOption('--name <name>', 'name of the organization')
    .option('--email <address>', 'e-mail address of its administrator', '')
    .action(({ name, email }: { name: string; email: string }) =>
      run(async ({ identity }) => {
        const created = await identity.createOrganization({ name, email });
        return {
          organization_id: created.organizationId,
          user_id: created.userId,
          api_keys: { live: created.liveApiKey, test: created.testApiKey },
        };
      }),
    );
}
