import type { Logger } from '@agent-service/runtime';
import { judgeStatement, type Store } from '@agent-service/store';
import { createBatcher } from '@agent-service/work';
import { monthOf } from '../domain/calendar.ts';
import { listUnturned, type UnturnedAccount } from '../store/sweeps.ts';
import type { Ledgers } from './ledgers.ts';

/** Accounts in one transaction: a short wait for whoever else needs the tenant's ledger. */
const accountsAtOnce = 200;

export interface TurnMonthsOptions {
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
