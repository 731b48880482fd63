import type { Logger, ProcessContext } from '@agent-service/runtime';
import { judgeStatement, type Store, startSweep, sweepIdempotency } from '@agent-service/store';
import { createBatcher } from '@agent-service/work';
import type { CreditsContext } from './context.ts';
import { monthOf } from './domain/calendar.ts';
import type { Ledgers } from './ledger/ledgers.ts';
import { listUnturned, removeEndedHolds, removeOldOperations, type UnturnedAccount } from './store/due.ts';

const everyMinute = 60_000;
const everyHour = 3_600_000;

/** What is done without being asked for. Every replica does it; a step that another has done finds nothing. */
export function startSweeps(process: ProcessContext, { store, ledgers, now }: CreditsContext): void {
  const turnMonths = createMonthTurner({ store, ledgers, logger: process.logger, now });
  startSweep(process, 'month turn', everyMinute, turnMonths);
  startSweep(process, 'ended holds', everyMinute, () => removeEndedHolds(store.sql, now()));
  startSweep(process, 'old operations', everyHour, () => removeOldOperations(store.sql, now()));
  startSweep(process, 'idempotency', everyMinute, () => sweepIdempotency(store.sql));
  startSweep(process, 'usage partitions', everyHour, async () => {
    await ledgers.prepare();
    return 0;
  });
}

/** Accounts in one transaction: a short wait for whoever else needs the tenant's ledger. */
const accountsAtOnce = 200;

interface TurnMonthsOptions {
  store: Store;
  ledgers: Ledgers;
  logger: Logger;
  now: () => number;
}

/**
 * Brings accounts that nobody met into the current month, a bounded number a step, whatever the size of the organization.
 * A step goes on where the one before ended; an account whose turn fails keeps no other from its own.
 */
export function createMonthTurner({ store, ledgers, logger, now }: TurnMonthsOptions): () => Promise<number> {
  let after: UnturnedAccount | undefined;

  const batcher = createBatcher<UnturnedAccount, true>({
    run: async (accounts) => {
      const operations = accounts.map(({ userId }) => ({ kind: 'turn' as const, userId }));
      if (accounts[0]) await ledgers.commit(accounts[0], operations);
      return accounts.map(() => true);
    },
    maxItems: accountsAtOnce,
    judge: judgeStatement,
    tenants: { of: (account) => account, lanes: 'each', most: 1 },
    onFailure([first, ...rest], cause) {
      const { organizationId, environment, userId } = first as UnturnedAccount;
      const account = { organization_id: organizationId, environment, user_id: userId };
      logger.error({ event: 'month_turn_failed', ...account, more: rest.length, err: cause });
    },
  });

  return async () => {
    const found = await listUnturned(store.sql, monthOf(now()), after, accountsAtOnce);
    after = found.length === accountsAtOnce ? found.at(-1) : undefined;
    const outcomes = await Promise.allSettled(found.map((account) => batcher.add(account)));
    return outcomes.filter(({ status }) => status === 'fulfilled').length;
  };
}
