import type { Command } from 'commander';
import { group } from './group.ts';
import type { Run } from './run.ts';

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
