import { acceptStatements } from './accept.ts';
import { beginStatements } from './begin.ts';
import { completeStatements } from './complete.ts';
import { dispatchStatements } from './dispatch.ts';
import { dueStatements } from './due.ts';
import { endStatements } from './end.ts';
import { leaseStatements } from './leases.ts';
import { readStatements } from './read.ts';

/** All statements of the module, by name. Each is prepared once on a connection. */
export const answerStatements: Readonly<Record<string, string>> = {
  ...acceptStatements,
  ...dispatchStatements,
  ...beginStatements,
  ...leaseStatements,
  ...completeStatements,
  ...endStatements,
  ...dueStatements,
  ...readStatements,
};
