import { type ErrorCode, isErrorCode } from '@agent-service/contracts';
import { callByTenant, tenantName } from '@agent-service/runtime';
import { detached } from './detached.ts';
import type { AnswerKey } from './key.ts';
import type { Parts } from './parts.ts';

const limitMs = 2_000;

export interface Holdable extends AnswerKey {
  readonly userId: string;
  readonly tier: string;
  readonly deadline: number;
}

export interface Refusal {
  readonly code: ErrorCode;
  readonly required?: number | string;
  readonly available?: number | string;
}

/** Held, or why not; `perhaps` where the ledger may have granted what it could not answer. */
export type HoldOutcome = { readonly held: true } | { readonly held: false; readonly perhaps: boolean; readonly refusal: Refusal };

const decided = new Set<ErrorCode>(['user_limit_reached', 'credits_exhausted', 'invalid_request', 'hold_released', 'idempotency_conflict']);

type HoldParts = Pick<Parts, 'credits' | 'process' | 'slowTenants'>;

/** Sets aside what answers may cost at most. An Error stands for a ledger that the other tenants do not wait for. */
export const holdAll = (parts: HoldParts, items: readonly Holdable[]): Promise<(HoldOutcome | Error)[]> =>
  callByTenant(items, (some) => holdOfTenant(parts, some));

async function holdOfTenant({ credits, process, slowTenants }: HoldParts, items: readonly Holdable[]): Promise<HoldOutcome[]> {
  const ask = async (some: readonly Holdable[]) => {
    const { results } = await detached(limitMs, () => credits.hold({ items: some.map(holdItem) }));
    return some.map((_, index) => outcomeOf(results[index]?.refusal));
  };
  try {
    const outcomes = await ask(items);
    if (items[0] && outcomes.includes(unknown)) slowTenants.add(tenantName(items[0]));
    return await askAgain(items, outcomes, ask);
  } catch (cause) {
    process.logger.warn({ event: 'hold_failed', answers: items.length, err: cause });
    return items.map(() => unknown);
  }
}

/** A ledger that answers, and was only too slow for some, is asked for those once more: under its own id a hold is made once. */
async function askAgain(
  items: readonly Holdable[],
  outcomes: HoldOutcome[],
  ask: (items: readonly Holdable[]) => Promise<HoldOutcome[]>,
): Promise<HoldOutcome[]> {
  const slow = items.filter((_, index) => outcomes[index] === unknown);
  if (slow.length === 0) return outcomes;
  const again = new Map((await ask(slow)).map((outcome, index) => [slow[index], outcome]));
  return items.map((item, index) => again.get(item) ?? (outcomes[index] as HoldOutcome));
}

const unknown: HoldOutcome = { held: false, perhaps: true, refusal: { code: 'unavailable' } };

type RefusalMessage = { code: string; shortage: { required: number | string; available: number | string } | null } | null | undefined;

function outcomeOf(refusal: RefusalMessage): HoldOutcome {
  if (!refusal) return { held: true };
  const code = isErrorCode(refusal.code) ? refusal.code : 'internal';
  if (!decided.has(code)) return unknown;
  // Released already, or held for other terms: this id had its chance.
  if (code === 'hold_released' || code === 'idempotency_conflict') return { held: false, perhaps: false, refusal: { code: 'unavailable' } };
  return { held: false, perhaps: false, refusal: { code, ...refusal.shortage } };
}

const holdItem = ({ organizationId, environment, id, userId, tier, deadline }: Holdable) => ({
  tenant: { organizationId, environment },
  holdId: id,
  userId,
  tier,
  deadlineMs: deadline,
});
