import type { Logger } from '@agent-service/runtime';
import type { Store } from '@agent-service/store';
import { monthOf } from '../domain/month.ts';
import { nameOf } from '../domain/tenant.ts';
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
 * A step goes on where the one before ended, so that a tenant whose turn fails keeps no other waiting.
 */
export function createMonthTurner({ store, ledgers, logger, now }: TurnMonthsOptions): () => Promise<number> {
  let after: UnturnedAccount | undefined;

  async function turn(accounts: UnturnedAccount[]): Promise<number> {
    const [first] = accounts;
    if (!first) return 0;
    try {
      await ledgers.commit(
        first,
        accounts.map(({ userId }) => ({ kind: 'turn', userId })),
      );
      return accounts.length;
    } catch (cause) {
      logger.error({ event: 'month_turn_failed', organization_id: first.organizationId, environment: first.environment, err: cause });
      return 0;
    }
  }

  return async () => {
    const found = await listUnturned(store.sql, monthOf(now()), after, accountsAtOnce);
    after = found.length === accountsAtOnce ? found.at(-1) : undefined;
    let turned = 0;
    const tenants = Map.groupBy(found, nameOf);
    for (const accounts of tenants.values()) turned += await turn(accounts);
    return turned;
  };
}
