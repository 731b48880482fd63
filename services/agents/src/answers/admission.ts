import { callDetached, type ErrorCode, isErrorCode, ServiceError } from '@agent-service/contracts';
import { callByTenant, tenantName } from '@agent-service/work';
import { type AnswerKey, batchFields, keyRetentionMs } from '../shared/answer.ts';
import type { AnswersDeps } from './deps.ts';
import type { Situation } from './store/accept.ts';

export type Admission =
  | { readonly kind: 'admit' }
  /** The message was accepted before. */
  | { readonly kind: 'repeat' }
  /** Its Idempotency-Key names another answer. */
  | { readonly kind: 'attach'; readonly answerId: string }
  | {
      readonly kind: 'refuse';
      readonly code: 'idempotency_key_reused' | 'not_found' | 'agent_not_active' | 'conversation_busy' | 'too_many_waiting';
      /** The field whose id is unknown. */
      readonly param?: 'agent_id' | 'conversation_id';
    };

type RefusedAdmission = Extract<Admission, { kind: 'refuse' }>;

const refuse = (code: RefusedAdmission['code'], param?: RefusedAdmission['param']): Admission => ({
  kind: 'refuse',
  code,
  ...(param && { param }),
});

export const isExpired = (key: Situation['key'], now: number): boolean => key !== undefined && key.createdAt <= now - keyRetentionMs;

/** Decides about a message. One that was accepted stays accepted, even if limits or states have changed since. */
export function admit(situation: Situation, limits: { waiting: number }, now: number): Admission {
  if (situation.accepted === 'forThisCaller') return { kind: 'repeat' };
  if (situation.accepted === 'forAnotherCaller') return refuse('not_found');
  if (situation.agentStatus === null) return refuse('not_found', 'agent_id');
  const { key } = situation;
  if (key && !isExpired(key, now)) {
    return key.fingerprint === situation.fingerprint ? { kind: 'attach', answerId: key.answerId } : refuse('idempotency_key_reused');
  }
  if (situation.agentStatus !== 'active') return refuse('agent_not_active');
  if (situation.continues && !situation.conversationFound) return refuse('not_found', 'conversation_id');
  if (situation.continues && situation.conversationBusy) return refuse('conversation_busy');
  // Even while more answers may be in flight: the statement that accepts lets no message overtake those that wait.
  if (situation.waiting >= limits.waiting) return refuse('too_many_waiting');
  return { kind: 'admit' };
}

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
  readonly carriedOver?: number | string;
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

/**
 * Holds what each answer may cost at most. The outcome is an Error where the call of its tenant failed, or took so long that the others do not
 * wait for it.
 */
export const holdAll = (deps: HoldDeps, items: readonly Holdable[]): Promise<(HoldOutcome | Error)[]> =>
  callByTenant(items, (ofTenant) => holdOfTenant(deps, ofTenant));

/** Tries a second time to make the holds that the ledger did not decide, or not in time: a hold is idempotent by its answer's id. */
async function holdOfTenant(deps: HoldDeps, items: readonly Holdable[]): Promise<HoldOutcome[]> {
  const first = await tryHold(deps, items);
  if (items[0] && first.outcomes.includes(undecided)) deps.slowTenants.ledger.add(tenantName(items[0]));
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
    const first = outcomes.indexOf(undecided);
    if (first >= 0) {
      const undecidedItems = items.filter((_, index) => outcomes[index] === undecided);
      process.logger.warn({ event: 'hold_undecided', ...batchFields(undecidedItems), code: results[first]?.refusal?.code });
    }
    return { outcomes, mayRetry: true };
  } catch (cause) {
    const { code } = ServiceError.from(cause);
    process.logger.warn({ event: 'hold_failed', ...batchFields(items), code, err: cause });
    return { outcomes: items.map(() => undecided), mayRetry: code === 'deadline_exceeded' };
  }
}

const undecided: HoldOutcome = { isHeld: false, mayBeHeld: true, refusal: { code: 'unavailable' } };

type RefusalMessage = { code: string; shortage: Omit<Refusal, 'code'> | null } | null | undefined;

function toOutcome(refusal: RefusalMessage): HoldOutcome {
  if (!refusal) return { isHeld: true };
  const code = isErrorCode(refusal.code) ? refusal.code : 'internal';
  if (!decisive.has(code)) return undecided;
  // The id was used before: its hold was released, or made for other terms, as by a replica with other prices.
  if (code === 'hold_released' || code === 'idempotency_conflict')
    return { isHeld: false, mayBeHeld: code === 'idempotency_conflict', refusal: { code: 'unavailable' } };
  return { isHeld: false, mayBeHeld: false, refusal: { code, ...refusal.shortage } };
}

const holdItem = ({ organizationId, environment, id, message: { userId }, tier, deadline }: Holdable) => ({
  tenant: { organizationId, environment },
  holdId: id,
  userId,
  tier,
  deadlineMs: deadline,
});
