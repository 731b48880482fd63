import { Command } from 'commander';
import { auditCommands } from './audit.ts';
import { print, type Run } from './commands.ts';
import type { Connection } from './connection.ts';
import { keyCommands, oauthClientCommands, serviceKeyCommands, signingKeyCommands } from './credentials.ts';
import { creditCommands } from './credits.ts';
import { dataSourceCommands } from './data-sources.ts';
import { organizationCommands } from './organizations.ts';
import { outboxCommands } from './outbox.ts';
import { userCommands } from './users.ts';
import { webhookCommands } from './webhooks.ts';

/** The operator's command line. */
export function buildProgram(env: NodeJS.ProcessEnv, connect: () => Connection): Command {
  const program = new Command('admin')
    .description('Manage organizations, users, keys and applications of an Agent Service.')
    .option('--json', 'print one JSON object');
  program.exitOverride();
  const run: Run = async (work) => {
    const connection = connect();
    try {
      print(await work(connection), program.opts<{ json?: boolean }>().json === true);
    } finally {
      connection.close();
    }
  };
  organizationCommands(program, run);
  userCommands(program, run, env);
  keyCommands(program, run);
  oauthClientCommands(program, run);
  signingKeyCommands(program, run);
  serviceKeyCommands(program, env);
  auditCommands(program, run);
  creditCommands(program, run);
  dataSourceCommands(program, run, env);
  outboxCommands(program, run);
  webhookCommands(program, run);
  for (const noun of program.commands) noun.commands.forEach(refuseRepetitions);
  return program;
}

/** Otherwise only the last value would count: `key revoke` with two keys would leave the first one valid. */
function refuseRepetitions(command: Command): void {
  for (const option of command.options.filter(({ required, variadic }) => required && !variadic)) {
    let uses = 0;
    command.on(`option:${option.name()}`, () => {
      uses += 1;
      if (uses > 1) command.error(`error: option '${option.flags}' is given more than once.`);
    });
  }
}
