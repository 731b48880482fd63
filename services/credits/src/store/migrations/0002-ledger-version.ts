import { migration } from '@agent-service/store';

// Counts the batches that wrote anything of the tenant. Who read a version and still finds it there has missed nothing.
const version = 'alter table ledgers add column version bigint not null default 0;';

export const ledgerVersion = migration('0002-ledger-version', version);
