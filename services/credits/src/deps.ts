import type { Logger } from '@agent-service/runtime';
import type { Cursors, Relay, Store } from '@agent-service/store';
import type { PriceBook } from './domain/holds.ts';
import type { LedgerQueue, Ledgers } from './ledger/ledgers.ts';
import type { UsageSql } from './store/usage/usage-sql.ts';

/** Dependencies of the methods and sweeps of this service. */
export interface CreditsDeps {
  readonly store: Store;
  readonly logger: Logger;
  readonly ledgers: Ledgers;
  readonly queue: LedgerQueue;
  readonly usageSql: UsageSql;
  readonly prices: PriceBook;
  readonly cursors: Cursors;
  readonly auditRelay: Relay;
  readonly now: () => number;
}
