import {
  type Call,
  checkId,
  checkItems,
  checkTenant,
  checkText,
  type ErrorCode,
  type RpcOf,
  ServiceError,
  services,
} from '@agent-service/contracts';
import { firstCharacters } from '@agent-service/contracts/strings';
import { lastOf, limitOf } from '@agent-service/store';
import type { CreditsDeps } from '../deps.ts';
import { chargeOf, type PriceBook, priceOf, type TierPrice } from '../domain/holds.ts';
import type { Operation, Refusal, Result, SettleOperation, Shortage } from '../domain/operations.ts';
import type { LedgerQueue } from '../ledger/ledgers.ts';
import { selectOverdueHolds } from '../store/due.ts';

/** A hold that is not decided within this is refused, so that no answer runs without a hold. */
const holdLimitMs = 800;

export const hold = ({ logger, queue, prices }: CreditsDeps): RpcOf<'credits', 'hold'> => ({
  allow: services('agents'),
  async handle({ items }, call) {
    const results = await decideItems(call, {
      logger,
      queue,
      items,
      limitMs: holdLimitMs,
      operationOf: ({ holdId, userId, amount, tier, deadlineMs }) => ({
        kind: 'hold',
        id: checkId(holdId, 'hold_id'),
        userId: checkId(userId, 'user_id'),
        amount: amount ?? checkTier(prices, tier).ceiling,
        deadline: Number(deadlineMs),
      }),
      toResult: (result) => ({ held: requireSuccess(result, 'hold').amount }),
    });
    return { results };
  },
});

/** No caller waits for a settle or release, so they may take longer than a hold. */
const endLimitMs = 5_000;
const maxTextLength = 2_000;
const maxSummaryLength = 120;

export const settle = ({ logger, queue, prices }: CreditsDeps): RpcOf<'credits', 'settle'> => ({
  allow: services('agents'),
  async handle({ items }, call) {
    const results = await decideItems(call, {
      logger,
      queue,
      items,
      limitMs: endLimitMs,
      operationOf: (item) => toOperation(prices, item),
      toResult: (result) => ({ charged: requireSuccess(result, 'settle').charge }),
    });
    return { results };
  },
});

type SettleItem = Parameters<RpcOf<'credits', 'settle'>['handle']>[0]['items'][number];

function toOperation(prices: PriceBook, item: SettleItem): SettleOperation {
  const price = checkTier(prices, item.tier);
  const inputTokens = checkCount(item.inputTokens, 'input_tokens');
  const outputTokens = checkCount(item.outputTokens, 'output_tokens');
  return {
    kind: 'settle',
    id: checkId(item.holdId, 'hold_id'),
    amount: item.amount ?? chargeOf(price, { input: inputTokens, output: outputTokens }),
    usage: {
      agentId: checkId(item.agentId, 'agent_id'),
      agentName: checkText(item.agentName, 'agent_name', { max: maxTextLength }),
      conversationId: checkId(item.conversationId, 'conversation_id'),
      tier: item.tier,
      inputTokens,
      outputTokens,
      querySummary: checkText(firstCharacters(item.querySummary, maxSummaryLength), 'query_summary', { max: maxTextLength }),
    },
  };
}

function checkCount(count: number, param: string): number {
  if (count >= 0) return count;
  throw new ServiceError('invalid_request', { message: `${param} must not be negative.`, param });
}

export const release = ({ logger, queue }: CreditsDeps): RpcOf<'credits', 'release'> => ({
  allow: services('agents'),
  async handle({ items }, call) {
    const results = await decideItems(call, {
      logger,
      queue,
      items,
      limitMs: endLimitMs,
      operationOf: ({ holdId }) => ({ kind: 'release', id: checkId(holdId, 'hold_id') }),
      toResult: (result) => ({ released: requireSuccess(result, 'release').released }),
    });
    return { results };
  },
});

const defaultOverdue = 100;
const maxOverdue = 1_000;
const binding = ['overdue holds'];

export const listOverdueHolds = ({ store, cursors, now }: CreditsDeps): RpcOf<'credits', 'listOverdueHolds'> => ({
  allow: services('agents'),
  async handle({ page }) {
    const limit = limitOf(page, defaultOverdue, maxOverdue);
    const start = cursors.decode(binding, page?.cursor ?? '');
    const rows = await selectOverdueHolds(store.sql, now(), start?.after, limit + 1);
    const last = lastOf(rows, limit);
    return {
      holds: rows.slice(0, limit).map(({ organizationId, environment, holdId, userId, amount, deadlineMs }) => ({
        tenant: { organizationId, environment },
        holdId,
        userId,
        amount,
        deadlineMs,
      })),
      nextCursor: last ? cursors.encode(binding, { after: [last.deadlineMs, last.organizationId, last.environment, last.holdId] }) : '',
    };
  },
});

function checkTier(prices: PriceBook, tier: string): TierPrice {
  const price = priceOf(prices, tier);
  if (price) return price;
  throw new ServiceError('invalid_request', { message: `tier must be one of ${Object.keys(prices).join(', ')}.`, param: 'tier' });
}

interface ItemHandling<Item, Decided> {
  logger: CreditsDeps['logger'];
  queue: LedgerQueue;
  items: readonly Item[];
  operationOf: (item: Item) => Operation;
  /** The result of an item whose operation was not refused. */
  toResult: (result: Result) => Decided;
  /** The time limit, within the deadline of the call. */
  limitMs: number;
}

/** Decides each item by itself, and returns the results in their order: a failed item or an unavailable tenant does not affect the others. */
async function decideItems<Item extends { tenant: { organizationId: string; environment: string } | null }, Decided>(
  call: Call,
  { logger, queue, items, operationOf, toResult, limitMs }: ItemHandling<Item, Decided>,
): Promise<(Decided | { refusal: RefusalMessage })[]> {
  checkItems(items);
  const limit = Math.min(limitMs, call.expiresAt - performance.now());
  return await Promise.all(
    items.map(async (item) => {
      try {
        const result = await queue.submit(checkTenant(item.tenant), operationOf(item), limit);
        return result.ok ? toResult(result) : { refusal: toRefusal(result) };
      } catch (cause) {
        const { code } = ServiceError.from(cause);
        // A mistake of this service, of which its caller is told the code alone.
        if (code === 'internal')
          logger.error({ event: 'operation_failed', organization_id: item.tenant?.organizationId, code, err: cause });
        return { refusal: { code, shortage: null } };
      }
    }),
  );
}

/** The refusal of one item, in the result of that item. */
interface RefusalMessage {
  code: ErrorCode;
  shortage: Refusal['shortage'];
}

const toRefusal = (refusal: Refusal): RefusalMessage => ({ code: refusal.code, shortage: refusal.shortage });

/** The refusal of a call with one operation, as the error of the call. */
function toError({ code, shortage }: Refusal): ServiceError {
  const hasFigures = code === 'insufficient_unallocated_credits' && shortage;
  return new ServiceError(code, { details: { ...shortage }, ...(hasFigures && { message: unallocatedMessage(shortage) }) });
}

const unallocatedMessage = ({ required, available }: Shortage): string =>
  `This allocation needs ${required} more credits, and ${available} are unallocated: lower the allocations of other users, or ask the operator for credits.`;

/** The result, which must be of this kind. Throws a refusal. */
export function requireSuccess<Kind extends (Result & { ok: true })['kind']>(
  result: Result,
  kind: Kind,
): Extract<Result, { ok: true; kind: Kind }> {
  if (!result.ok) throw toError(result);
  if (result.kind !== kind) throw new Error(`a ${kind} has the result of a ${result.kind}`);
  return result as Extract<Result, { ok: true; kind: Kind }>;
}
