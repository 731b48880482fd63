import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { group, inOrganization, type PageOptions, pageOutput, type Run, requireOrganization, withPages } from './commands.ts';
import type { Connection } from './connection.ts';

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
  // A service user has none: the scopes of its application are its limit.
  role: user?.kind === 'service' ? '' : (user?.role ?? ''),
  status: user?.status ?? '',
  created_at: user?.createdAt ?? '',
});

interface UserOptions {
  organization: string;
  user: string;
}

const randomPasswordBytes = 18;

/** The commands by which an operator lets a user sign in to the portal. */
function passwordCommands(verb: ReturnType<typeof group>, run: Run, env: NodeJS.ProcessEnv): void {
  verb('set-password', 'set the password with which a user signs in to the portal, and end the user’s sessions')
    .requiredOption('--organization <id>')
    .requiredOption('--user <id>')
    .option('--password-env <name>', 'the environment variable that holds the password; without it one is made and printed')
    .option('--remove-two-factor', 'also remove two-factor authentication, for a user who has lost it')
    .action(({ organization: organizationId, user: userId, passwordEnv, removeTwoFactor = false }: SetPasswordOptions) =>
      run(async ({ identity }) => {
        const fromVariable = passwordEnv === undefined ? undefined : env[passwordEnv];
        if (passwordEnv !== undefined && !fromVariable) throw new Error(`The environment variable ${passwordEnv} is not set.`);
        const password = fromVariable ?? randomBytes(randomPasswordBytes).toString('base64url');
        await identity.setUserPassword({ organizationId, userId, password, removeTwoFactor });
        return { user_id: userId, ...(fromVariable === undefined && { password }) };
      }),
    );
  verb('reset-link', 'make a link with which a user sets a new password, once within an hour')
    .requiredOption('--organization <id>')
    .requiredOption('--user <id>')
    .option('--portal-url <url>', 'the address of the portal; PORTAL_URL or the running local system unless given')
    .action(({ organization: organizationId, user: userId, portalUrl }: UserOptions & { portalUrl?: string }) =>
      run(async (connection) => {
        const portal = originOf(portalUrl ?? connection.portalUrl);
        const { token, expiresAt } = await connection.identity.createPasswordReset({ organizationId, userId });
        return { link: `${portal}/password-reset?token=${token}`, expires_at: expiresAt };
      }),
    );
}

/** A new link ends the one before it, so the address is checked first. */
function originOf(url: string | undefined): string {
  if (!url) throw new Error('Name the address of the portal with --portal-url or PORTAL_URL.');
  const { protocol, origin } = URL.parse(url) ?? {};
  if (origin === undefined || !/^https?:$/.test(protocol ?? ''))
    throw new Error(`The address of the portal begins with http:// or https://, and "${url}" does not.`);
  return origin;
}

interface SetPasswordOptions extends UserOptions {
  passwordEnv?: string;
  removeTwoFactor?: boolean;
}
