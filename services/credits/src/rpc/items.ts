import { type Call, ServiceError } from '@agent-service/contracts';
import type { Tenant } from '../domain/accounts.ts';
import { type PriceBook, priceOf, type TierPrice } from '../domain/holds.ts';
import type { Operation, Result } from '../domain/operations.ts';
import type { LedgerQueue } from '../ledger/ledger-queue.ts';
import { type RefusalMessage, toFailure, toRefusal } from './outcomes.ts';

const maxItems = 1_000;
const longestId = 128;

interface TenantMessage {
  organizationId: string;
  environment: string;
}

export function checkTenant(message: TenantMessage | null): Tenant {
  const { organizationId = '', environment } = message ?? {};
  if (environment !== 'live' && environment !== 'test')
    throw new ServiceError('invalid_request', { message: 'The environment must be live or test.', param: 'environment' });
  return { organizationId: checkId(organizationId, 'organization_id'), environment };
}

/** PostgreSQL keeps no NUL, so one would be a fault of the batch that it came with. */
export function checkId(id: string, param: string): string {
  if (id.length > 0 && id.length <= longestId && !id.includes('\0')) return id;
  throw new ServiceError('invalid_request', { message: `${param} must have 1 to ${longestId} characters.`, param });
}

export function checkTier(prices: PriceBook, tier: string): TierPrice {
  const price = priceOf(prices, tier);
  if (price) return price;
  throw new ServiceError('invalid_request', { message: `tier must be one of ${Object.keys(prices).join(', ')}.`, param: 'tier' });
}

export interface ItemHandling<Item> {
  queue: LedgerQueue;
  items: readonly Item[];
  tenantOf: (item: Item) => TenantMessage | null;
  operationOf: (item: Item) => Operation;
  /** How long a caller is kept waiting, within the call's own deadline. */
  limitMs: number;
}

/** Decides every item by itself and answers in their order: one that fails, or one tenant that can not be reached, spoils no other. */
export async function decideItems<Item>(
  call: Call,
  { queue, items, tenantOf, operationOf, limitMs }: ItemHandling<Item>,
): Promise<(Extract<Result, { ok: true }> | RefusalMessage)[]> {
  if (items.length > maxItems)
    throw new ServiceError('invalid_request', { message: `At most ${maxItems} items in a call.`, param: 'items' });
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
