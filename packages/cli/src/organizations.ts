import type { Environment } from '@agent-service/contracts';
import { type Command, Option } from 'commander';
import { group, inOrganization, type PageOptions, type Run, requireOrganization, withPages } from './commands.ts';
import type { Connection } from './connection.ts';
import { passwordCommands } from './passwords.ts';

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

interface Options {
  organization: string;
  email: string;
  name?: string;
  role: string;
}

export function userCommands(program: Command, run: Run, env: NodeJS.ProcessEnv): void {
  const verb = group(program, 'user', 'Users of an organization');
  passwordCommands(verb, run, env);
  verb('create', 'register a user')
    .requiredOption('--organization <id>')
    .requiredOption('--email <address>')
    .option('--name <name>', 'the part of the address before the @, unless given')
    .addOption(new Option('--role <role>').choices(['admin', 'member']).default('member'))
    .action(({ organization, email, name, role }: Options) =>
      run(async ({ identity }) => {
        const { user } = await inOrganization({ organization }, () =>
          identity.createUser({ name: name ?? email.split('@')[0] ?? email, email, role }),
        );
        return { user_id: user?.id ?? '' };
      }),
    );
  withPages(verb('list', 'show the users, newest first'))
    .requiredOption('--organization <id>')
    .addOption(new Option('--role <role>').choices(['admin', 'member']))
    .addOption(new Option('--status <status>').choices(['active', 'deactivated']))
    .action(({ organization, limit, after, role = '', status = '' }: PageOptions & Partial<UserFilter> & { organization: string }) =>
      run(async ({ identity }) => {
        await requireOrganization({ identity }, organization);
        const { users, page } = await inOrganization({ organization }, () =>
          identity.listUsers({ page: { limit, cursor: after }, role, status }),
        );
        return { users: users.map(userOutput), ...pageOutput(page) };
      }),
    );
  verb('show', 'show one')
    .requiredOption('--organization <id>')
    .requiredOption('--user <id>')
    .action(({ organization, user: userId }: { organization: string; user: string }) =>
      run(async ({ identity }) => userOutput((await inOrganization({ organization }, () => identity.getUser({ userId }))).user)),
    );
}

interface UserFilter {
  role: string;
  status: string;
}

type User = Awaited<ReturnType<Connection['identity']['getUser']>>['user'];

const userOutput = (user: User) => ({
  id: user?.id ?? '',
  name: user?.name ?? '',
  email: user?.email ?? '',
  role: user?.role ?? '',
  status: user?.status ?? '',
  created_at: user?.createdAt ?? '',
});

/** How many there are, and where the next page begins if there is one. */
export const pageOutput = (page: { readonly total: string; readonly nextCursor: string } | null) => ({
  total: Number(page?.total ?? 0),
  ...(page?.nextCursor && { next: page.nextCursor }),
});
