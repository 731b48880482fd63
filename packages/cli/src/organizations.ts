import type { Environment } from '@agent-service/contracts';
import type { Command } from 'commander';
import { group, inOrganization, type PageOptions, type Run, withPages } from './commands.ts';
import type { Connection } from './connection.ts';

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
  withPages(verb('list', 'show them, newest first')).action(({ limit, after }: PageOptions) =>
    run(async ({ identity }) => {
      const { organizations, hasMore } = await identity.listOrganizations({ limit, afterId: after });
      const rows = organizations.map(({ id, name, createdAt }) => ({ id, name, created_at: createdAt }));
      return { organizations: rows, ...(hasMore && { next: rows.at(-1)?.id ?? '' }) };
    }),
  );
  verb('show', 'show one, with the numbers of its users and active credentials')
    .requiredOption('--organization <id>')
    .action(({ organization }: { organization: string }) =>
      run(async ({ identity }) => {
        const { organizationId, name, createdAt } = await identity.getOrganization({ organizationId: organization });
        const { page } = await inOrganization({ organization }, () => identity.listUsers({ page: firstOnly }));
        const [live, test] = [
          await countCredentials(identity, organization, 'live'),
          await countCredentials(identity, organization, 'test'),
        ];
        return { id: organizationId, name, created_at: createdAt, users: Number(page?.total), live, test };
      }),
    );
}

const firstOnly = { limit: 1, cursor: '' };

/** The active keys and applications of one environment. */
function countCredentials(identity: Connection['identity'], organization: string, environment: Environment) {
  return inOrganization({ organization, environment }, async () => {
    const keys = await identity.listKeys({ page: firstOnly, status: 'active' });
    const applications = await identity.listOauthApplications({ page: firstOnly, status: 'active' });
    return { active_keys: Number(keys.page?.total), active_applications: Number(applications.page?.total) };
  });
}
