import { endOnSignal } from '@agent-service/runtime/run-process';
import { CommanderError } from 'commander';
import { printableFailure } from './commands.ts';
import { connect } from './connection.ts';
import { buildProgram } from './program.ts';

endOnSignal();
// A full disk, or a reader that has gone. The command may have had its effect, and a secret that is shown once may be lost.
process.stdout.on('error', (cause) => {
  process.stderr.write(`The output cannot be written: ${printableFailure(cause)}\n`);
  process.exit(1);
});
try {
  await buildProgram(process.env, () => connect(process.env)).parseAsync(process.argv);
} catch (cause) {
  // Commander has printed it already.
  if (!(cause instanceof CommanderError)) process.stderr.write(`${printableFailure(cause)}\n`);
  process.exitCode = cause instanceof CommanderError ? cause.exitCode : 1;
}
