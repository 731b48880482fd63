import type { Logger, ProcessContext } from '@agent-service/runtime';
import { classifyDatabaseFailure, type Store, startSweep, sweepIdempotency } from '@agent-service/store';
import { createBatcher } from '@agent-service/work';
import type { CreditsDeps } from './deps.ts';
import { monthOf } from './domain/calendar.ts';
import type { Ledgers } from './ledger/ledgers.ts';
import { type AccountOfPastMonth, removeEndedHolds, removeOldOperations, selectAccountsOfPastMonths } from './store/due.ts';

const everyMinute = 60_000;
const everyHour = 3_600_000;

/** Starts the periodic tasks. Every replica runs them; a step that another replica has done has no effect. */
export function startSweeps(process: ProcessContext, { store, ledgers, now }: CreditsDeps): void {
  const startMonths = createMonthStarter({ store, ledgers, logger: process.logger, now });
  startSweep(process, 'month start', everyMinute, startMonths);
  startSweep(process, 'ended holds', everyMinute, () => removeEndedHolds(store.sql, now()));
  startSweep(process, 'old operations', everyHour, () => removeOldOperations(store.sql, now()));
  startSweep(process, 'idempotency', everyMinute, () => sweepIdempotency(store.sql));
  startSweep(process, 'partitions of next month', everyHour, async () => {
    await ledgers.prepareNextMonth();
    return 0;
  });
}

/** Accounts in one transaction: few enough that other operations wait only briefly for the tenant's ledger. */
const maxAccounts = 200;

interface MonthStarterOptions {
  store: Store;
  ledgers: Ledgers;
  logger: Logger;
  now: () => number;
}

/**
 * Starts the month in accounts that have had no operation in it. Each step takes a bounded number of accounts and continues after those of
 * the step before; the failure of one account does not affect the others.
 * Returns how many started; 1 at least where a page follows, which must not wait for the pause after a page that failed.
 */
export function createMonthStarter({ store, ledgers, logger, now }: MonthStarterOptions): () => Promise<number> {
  let after: AccountOfPastMonth | undefined;

  const batcher = createBatcher<AccountOfPastMonth, true>({
    run: async (accounts) => {
      const operations = accounts.map(({ userId }) => ({ kind: 'start_month' as const, userId }));
      if (accounts[0]) await ledgers.commit(accounts[0], operations);
      return accounts.map(() => true);
    },
    maxItems: maxAccounts,
    classify: classifyDatabaseFailure,
    tenants: { of: (account) => account, lanes: 'each', maxInFlight: 1 },
    onFailure([first, ...rest], cause) {
      const { organizationId, environment, userId } = first as AccountOfPastMonth;
      const account = { organization_id: organizationId, environment, user_id: userId };
      logger.error({ event: 'month_start_failed', ...account, more: rest.length, err: cause });
    },
  });

  return async () => {
    const accounts = await selectAccountsOfPastMonths(store.sql, monthOf(now()), after, maxAccounts);
    after = accounts.length === maxAccounts ? accounts.at(-1) : undefined;
    const outcomes = await Promise.allSettled(accounts.map((account) => batcher.add(account)));
    const started = outcomes.filter(({ status }) => status === 'fulfilled').length;
    return after === undefined ? started : Math.max(1, started);
  };
}
