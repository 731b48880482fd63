import type { Run } from './run.ts';

let current: Run | undefined;

/** The run that the global setup started, for the global teardown of the same process. */
export const currentRun = {
  get: () => current,
  set: (run: Run) => {
    current = run;
  },
};
