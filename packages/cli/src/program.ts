import { Command } from 'commander';
import { auditCommands } from './audit.ts';
import { print, type Run } from './commands.ts';
import type { Connection } from './connection.ts';
import { keyCommands, oauthClientCommands, serviceKeyCommands, signingKeyCommands } from './credentials.ts';
import { creditCommands } from './credits.ts';
import { dataSourceCommands } from './data-sources.ts';
import { organizationCommands, userCommands } from './organizations.ts';
import { outboxCommands } from './outbox.ts';
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
  return program;
}
