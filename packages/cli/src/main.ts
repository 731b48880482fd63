import { CommanderError } from 'commander';
import { failureText } from './commands.ts';
import { connect } from './connection.ts';
import { buildProgram } from './program.ts';

try {
  await buildProgram(process.env, () => connect(process.env)).parseAsync(process.argv);
} catch (cause) {
  // Commander has printed it already.
  if (!(cause instanceof CommanderError)) process.stderr.write(`${failureText(cause)}\n`);
  process.exitCode = cause instanceof CommanderError ? cause.exitCode : 1;
}
