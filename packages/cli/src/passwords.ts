import { randomBytes } from 'node:crypto';
import type { group, Run } from './commands.ts';

interface UserOptions {
  organization: string;
  user: string;
}

const randomPasswordBytes = 18;

/** Commands by which an operator lets a user sign in to the portal. */
export function passwordCommands(verb: ReturnType<typeof group>, run: Run, env: NodeJS.ProcessEnv): void {
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
