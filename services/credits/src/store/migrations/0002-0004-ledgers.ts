import { deadLettersTable, migration } from '@agent-service/store';

// Changes with every batch that writes rows of the tenant: while a stamp is the same, no row has changed. It is not a number, because a
// database that is restored to an earlier state would count up to the same numbers again.
const stamp = 'alter table ledgers add column stamp uuid not null default gen_random_uuid();';

export const ledgerStamp = migration('0002-ledger-stamp', stamp);

export const deadLetters = migration('0003-dead-letters', deadLettersTable);

// The sum of a limit and a carry-over can exceed an integer. Every row that passed the narrow check passes this one.
const widen = `
  alter table user_accounts drop constraint user_accounts_balance_within_limit,
    add constraint user_accounts_balance_within_limit check (balance <= greatest(0, monthly_limit::bigint + carried - used - held));
`;

export const wideBalanceCheck = migration('0004-wide-balance-check', widen);
