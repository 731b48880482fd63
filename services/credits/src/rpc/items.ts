import { type Call, checkItems, checkTenant, ServiceError } from '@agent-service/contracts';
import { type PriceBook, priceOf, type TierPrice } from '../domain/holds.ts';
import type { Operation, Result } from '../domain/operations.ts';
import type { LedgerQueue } from '../ledger/ledger-queue.ts';
import { type RefusalMessage, toFailure, toRefusal } from './outcomes.ts';

export function checkTier(prices: PriceBook, tier: string): TierPrice {
  const price = priceOf(prices, tier);
  if (price) return price;
  throw new ServiceError('invalid_request', { message: `tier must be one of ${Object.keys(prices).join(', ')}.`, param: 'tier' });
}

export interface ItemHandling<Item> {
  queue: LedgerQueue;
  items: readonly Item[];
  tenantOf: (item: Item) => { organizationId: string; environment: string } | null;
  operationOf: (item: Item) => Operation;
  /** How long a caller is kept waiting, within the call's own deadline. */
  limitMs: number;
}

/** Decides every item by itself and answers in their order: one that fails, or one tenant that can not be reached, spoils no other. */
export async function decideItems<Item>(
  call: Call,
  { queue, items, tenantOf, operationOf, limitMs }: ItemHandling<Item>,
): Promise<(Extract<Result, { ok: true }> | RefusalMessage)[]> {
  checkItems(items);
  const limit = Math.min(limitMs, call.expiresAt - performance.now());
  return await Promise.all(
    items.map(async (item) => {
      try {
        const result = await queue.submit(checkTenant(tenantOf(item)), operationOf(item), limit);
        return result.ok ? result : toRefusal(result);
      } catch (cause) {
        return toFailure(cause);
      }
    }),
  );
}
