import { foundation } from './0001-foundation.ts';

/** The history of the schema, oldest first. */
export const migrations = [foundation];
