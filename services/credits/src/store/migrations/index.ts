import { ledger } from './0001-ledger.ts';
import { ledgerStamp } from './0002-ledger-stamp.ts';
import { deadLetters } from './0003-dead-letters.ts';
import { wideBalanceCheck } from './0004-wide-balance-check.ts';
import { transferMonths } from './0005-transfer-months.ts';

/** The history of the schema, oldest first. */
export const migrations = [ledger, ledgerStamp, deadLetters, wideBalanceCheck, transferMonths];
