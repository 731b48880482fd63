import { type ErrorCode, isErrorCode, ServiceError } from '@agent-service/contracts';
import { callByTenant, type RetryQueue, tenantName } from '@agent-service/work';
import type { AnswerKey } from '../shared/answer.ts';
import { type AnswersDeps, callDetached, createRetryQueue } from './deps.ts';
import { markUnusedHolds, removeReleased } from './store/end.ts';

/** The limit of one attempt; the client's own limit for a hold is shorter. */
const holdLimitMs = 1_000;

/** An answer whose credits are to be held. */
export interface Holdable extends AnswerKey {
  readonly message: { readonly userId: string };
  readonly tier: string;
  readonly deadline: number;
}

export interface Refusal {
  readonly code: ErrorCode;
  readonly required?: number | string;
  readonly available?: number | string;
  readonly monthlyLimit?: number | string;
  readonly usedThisMonth?: number | string;
  /** The field whose id is unknown. */
  readonly param?: string;
}

/** Held, or why not. `mayBeHeld`: the ledger did not answer, and may have made the hold. */
export type HoldOutcome = { readonly isHeld: true } | { readonly isHeld: false; readonly mayBeHeld: boolean; readonly refusal: Refusal };

const decisive = new Set<ErrorCode>([
  'user_limit_reached',
  'credits_exhausted',
  'invalid_request',
  'hold_released',
  'idempotency_conflict',
]);

type HoldDeps = Pick<AnswersDeps, 'credits' | 'process' | 'slowTenants'>;

/** Holds what each answer may cost at most. An Error is the outcome of a tenant that the others do not wait for. */
export const holdAll = (deps: HoldDeps, items: readonly Holdable[]): Promise<(HoldOutcome | Error)[]> =>
  callByTenant(items, (ofTenant) => holdOfTenant(deps, ofTenant));

/** Tries twice what the ledger did not decide or did not answer in time: a hold is idempotent by its answer's id. */
async function holdOfTenant(deps: HoldDeps, items: readonly Holdable[]): Promise<HoldOutcome[]> {
  const first = await tryHold(deps, items);
  if (items[0] && first.outcomes.includes(undecided)) deps.slowTenants.add(tenantName(items[0]));
  const rest = items.filter((_, index) => first.outcomes[index] === undecided);
  if (rest.length === 0 || !first.mayRetry) return first.outcomes;
  const second = await tryHold(deps, rest);
  const outcomeOf = new Map(rest.map((item, index) => [item, second.outcomes[index]]));
  return items.map((item, index) => outcomeOf.get(item) ?? (first.outcomes[index] as HoldOutcome));
}

interface HoldTry {
  readonly outcomes: HoldOutcome[];
  /** False where every replica of the ledger is away: the call has tried each of them already. */
  readonly mayRetry: boolean;
}

async function tryHold({ credits, process }: HoldDeps, items: readonly Holdable[]): Promise<HoldTry> {
  try {
    const { results } = await callDetached(holdLimitMs, () => credits.hold({ items: items.map(holdItem) }));
    const outcomes = items.map((_, index) => toOutcome(results[index]?.refusal));
    const index = outcomes.indexOf(undecided);
    if (index >= 0) {
      const { id, organizationId } = items[index] as Holdable;
      const more = outcomes.filter((outcome) => outcome === undecided).length - 1;
      const ids = { answer_id: id, organization_id: organizationId, more };
      process.logger.warn({ event: 'hold_undecided', ...ids, code: results[index]?.refusal?.code });
    }
    return { outcomes, mayRetry: true };
  } catch (cause) {
    const { code } = ServiceError.from(cause);
    process.logger.warn({ event: 'hold_failed', answers: items.length, code, err: cause });
    return { outcomes: items.map(() => undecided), mayRetry: code === 'deadline_exceeded' };
  }
}

const undecided: HoldOutcome = { isHeld: false, mayBeHeld: true, refusal: { code: 'unavailable' } };

type RefusalMessage = { code: string; shortage: Omit<Refusal, 'code'> | null } | null | undefined;

function toOutcome(refusal: RefusalMessage): HoldOutcome {
  if (!refusal) return { isHeld: true };
  const code = isErrorCode(refusal.code) ? refusal.code : 'internal';
  if (!decisive.has(code)) return undecided;
  // The id was used before: its hold was released, or made for other terms.
  if (code === 'hold_released' || code === 'idempotency_conflict')
    return { isHeld: false, mayBeHeld: false, refusal: { code: 'unavailable' } };
  return { isHeld: false, mayBeHeld: false, refusal: { code, ...refusal.shortage } };
}

const holdItem = ({ organizationId, environment, id, message: { userId }, tier, deadline }: Holdable) => ({
  tenant: { organizationId, environment },
  holdId: id,
  userId,
  tier,
  deadlineMs: deadline,
});

const releaseLimitMs = 6_000;
const maxSweptReleases = 2_000;

/** Releases holds that are not to be settled. */
export interface Releases {
  /** Holds of all rows in the state `releasing`. */
  readonly queue: RetryQueue<AnswerKey>;
  /** Releases holds whose messages were not accepted, or perhaps not. The hold of a message that was accepted after all is kept. */
  releaseUnused(holds: readonly AnswerKey[]): void;
  /** The same for holds that a sweep has found: those that the queue has no room for are released later. */
  releaseOverdue(holds: readonly AnswerKey[]): Promise<void>;
}

export function createReleases(deps: AnswersDeps): Releases {
  const { process, store, credits, now } = deps;
  const queue = createRetryQueue<AnswerKey>(deps, 'releasing holds', release, maxSweptReleases);
  const unused = createRetryQueue<AnswerKey>(deps, 'releasing unused holds', markUnused);

  async function markUnused(holds: AnswerKey[]): Promise<boolean[]> {
    queue.add(await markUnusedHolds(store.sql, holds, now()));
    return holds.map(() => true);
  }

  async function release(holds: AnswerKey[]): Promise<(boolean | Error)[]> {
    const results = await callByTenant(holds, async (ofTenant) => {
      const { results } = await callDetached(releaseLimitMs, () => credits.release({ items: ofTenant.map(releaseItem) }));
      return ofTenant.map((_, index) => results[index] ?? {});
    });
    const outcomes = holds.map((hold, index) => {
      const result = results[index];
      return result instanceof Error ? result : isReleased(hold, result?.refusal?.code);
    });
    const released = holds.filter((_, index) => outcomes[index] === true);
    if (released.length > 0) await removeReleased(store.sql, released, now());
    return outcomes;
  }

  /** A settled hold needs no release: the answer was charged before. */
  function isReleased({ id, organizationId }: AnswerKey, refusal: string | undefined): boolean {
    if (refusal === undefined) return true;
    process.logger.warn({ event: 'release_refused', answer_id: id, organization_id: organizationId, code: refusal });
    return refusal === 'hold_settled';
  }

  return {
    queue,
    releaseUnused: (holds) => unused.add(holds),
    async releaseOverdue(holds) {
      queue.addFromSweep(await markUnusedHolds(store.sql, holds, now()));
    },
  };
}

const releaseItem = ({ organizationId, environment, id }: AnswerKey) => ({ tenant: { organizationId, environment }, holdId: id });
