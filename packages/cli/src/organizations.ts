import { randomUUID } from 'node:crypto';
import { withCall } from '@agent-service/contracts';
import { type Command, Option } from 'commander';
import { group, type Run } from './commands.ts';

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

interface Options {
  organization: string;
  email: string;
  name?: string;
  role: string;
}

const callLimitMs = 10_000;

/** Runs the operator's work on an organization in that organization's name. */
const inOrganization = <T>(organizationId: string, work: () => T): T => {
  const principal = { organizationId, environment: 'live', userId: '', credentialId: '', scopes: [], admin: true } as const;
  return withCall({ requestId: randomUUID(), principal, expiresAt: performance.now() + callLimitMs }, work);
};

export function userCommands(program: Command, run: Run): void {
  const verb = group(program, 'user', 'Users of an organization');
  verb('create', 'register a user')
    .requiredOption('--organization <id>')
    .requiredOption('--email <address>')
    .option('--name <name>', 'the part of the address before the @, unless given')
    .addOption(new Option('--role <role>').choices(['admin', 'member']).default('member'))
    .action(({ organization, email, name, role }: Options) =>
      run(async ({ identity }) => {
        const { user } = await inOrganization(organization, () =>
          identity.createUser({ name: name ?? email.split('@')[0] ?? email, email, role }),
        );
        return { user_id: user?.id ?? '' };
      }),
    );
}
