import { type ErrorCode, isErrorCode, ServiceError } from '@agent-service/contracts';
import { callByTenant, tenantName } from '@agent-service/work';
import { detached } from './detached.ts';
import type { AnswerKey } from './key.ts';
import type { Parts } from './parts.ts';

/** Of one try; the client's own limit for a hold is shorter. */
const limitMs = 1_000;

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

/** Tries twice what the ledger did not decide or did not answer in time: under its own id a hold is made once. */
async function holdOfTenant(parts: HoldParts, items: readonly Holdable[]): Promise<HoldOutcome[]> {
  const first = await tryHold(parts, items);
  if (items[0] && first.outcomes.includes(unknown)) parts.slowTenants.add(tenantName(items[0]));
  const undecided = items.filter((_, index) => first.outcomes[index] === unknown);
  if (undecided.length === 0 || !first.mayRetry) return first.outcomes;
  const second = await tryHold(parts, undecided);
  const outcomeOf = new Map(undecided.map((item, index) => [item, second.outcomes[index]]));
  return items.map((item, index) => outcomeOf.get(item) ?? (first.outcomes[index] as HoldOutcome));
}

interface HoldTry {
  readonly outcomes: HoldOutcome[];
  /** False where every replica of the ledger is away: the call has tried each of them already. */
  readonly mayRetry: boolean;
}

async function tryHold({ credits, process }: HoldParts, items: readonly Holdable[]): Promise<HoldTry> {
  try {
    const { results } = await detached(limitMs, () => credits.hold({ items: items.map(holdItem) }));
    return { outcomes: items.map((_, index) => outcomeOf(results[index]?.refusal)), mayRetry: true };
  } catch (cause) {
    const { code } = ServiceError.from(cause);
    process.logger.warn({ event: 'hold_failed', answers: items.length, code, err: cause });
    return { outcomes: items.map(() => unknown), mayRetry: code === 'deadline_exceeded' };
  }
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
