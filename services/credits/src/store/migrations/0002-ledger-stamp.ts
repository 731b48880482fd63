import { migration } from '@agent-service/store';

// Anew with every batch that writes anything of the tenant: who read a stamp and still finds it there has missed nothing. It is no
// number, because a database that was set back to an earlier state would count up to the same numbers again.
const stamp = 'alter table ledgers add column stamp uuid not null default gen_random_uuid();';

export const ledgerStamp = migration('0002-ledger-stamp', stamp);
