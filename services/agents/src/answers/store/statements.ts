import { acceptStatements } from './accept.ts';
import { beginStatements, leaseStatements } from './attempts.ts';
import { dispatchStatements, dueStatements } from './dispatch.ts';
import { completeStatements, endStatements } from './end.ts';
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
