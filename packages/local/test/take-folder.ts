import { OperatorFault } from '@agent-service/runtime/failures';
import { takeFolder } from '../src/processes/ownership.ts';

/** Takes the folder it is told as soon as it hears a line, says what came of it, and lives until its input ends. */
process.stdout.write('here\n');
process.stdin.once('data', () =>
  takeFolder(process.argv[2] as string).then(
    () => process.stdout.write('taken\n'),
    (cause: unknown) => process.stdout.write(cause instanceof OperatorFault ? `refused: ${cause.message}\n` : `failed: ${cause}\n`),
  ),
);
