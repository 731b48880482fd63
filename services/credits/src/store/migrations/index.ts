import { ledger } from './0001-ledger.ts';
import { ledgerVersion } from './0002-ledger-version.ts';

/** The history of the schema, oldest first. */
export const migrations = [ledger, ledgerVersion];
