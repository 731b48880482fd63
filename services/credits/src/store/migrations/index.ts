import { ledger } from './0001-ledger.ts';

/** The history of the schema, oldest first. */
export const migrations = [ledger];
