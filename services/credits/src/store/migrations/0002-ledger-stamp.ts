import { migration } from '@agent-service/store';

// Changes with every batch that writes rows of the tenant: while a stamp is the same, no row has changed. It is not a number, because a
// database that is restored to an earlier state would count up to the same numbers again.
const stamp = 'alter table ledgers add column stamp uuid not null default gen_random_uuid();';

export const ledgerStamp = migration('0002-ledger-stamp', stamp);
