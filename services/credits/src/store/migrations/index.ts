import { ledger } from './0001-ledger.ts';
import { deadLetters, ledgerStamp, wideBalanceCheck } from './0002-0004-ledgers.ts';
import { transferMonths } from './0005-transfer-months.ts';

/** The history of the schema, oldest first. */
export const migrations = [ledger, ledgerStamp, deadLetters, wideBalanceCheck, transferMonths];
