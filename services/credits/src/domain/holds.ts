import { room, spendable, type UserAccount } from './accounts.ts';
import {
  type HoldOperation,
  type Refusal,
  type ReleaseOperation,
  type Result,
  refuse,
  refuseShort,
  type SettleOperation,
  settleFingerprint,
} from './operations.ts';
import type { Hold } from './state.ts';
import { replenish, turn, type Workspace } from './workspace.ts';

export interface TierPrice {
  base: number;
  per1kInput: number;
  per1kOutput: number;
  /** What an answer costs at most, and what is held for it. */
  ceiling: number;
}

export interface Tokens {
  input: number;
  output: number;
}

/** Prices by tier name. */
export type PriceBook = Readonly<Record<string, TierPrice>>;

/** The price of a tier that there is; names from outside must not reach what every object inherits. */
export function priceOf(prices: PriceBook, tier: string): TierPrice | undefined {
  return Object.hasOwn(prices, tier) ? prices[tier] : undefined;
}

/** The whole credits that an answer of this many tokens costs. */
export function chargeOf(price: TierPrice, tokens: Tokens): number {
  const exact = price.base + (tokens.input * price.per1kInput + tokens.output * price.per1kOutput) / 1000;
  return Math.min(price.ceiling, roundUp(exact));
}

/** Prices may have decimals; a rounding error of the sum must not cost a credit. */
function roundUp(credits: number): number {
  return Math.ceil(Math.round(credits * 1e6) / 1e6);
}

/** Sets the ceiling of an answer aside, or refuses. Whatever is held later is charged or freed, never found missing. */
export function hold(work: Workspace, operation: HoldOperation): Result {
  const known = work.hold(operation.id);
  if (known !== undefined) return repeated(known, operation);

  const { id, userId, amount, deadline } = operation;
  const key = `hold:${id}`;
  replenish(work, key);
  const existing = work.user(userId);
  const user = existing ?? work.draftUser(userId, work.ledger.settings.defaultMonthlyLimit);
  turn(work, user);
  const refusal = shortage(user, work.ledger.pool, amount);
  if (refusal !== null) {
    work.saveHold(refusedHold(id, userId, amount, deadline, refusal, work.now));
    return refusal;
  }
  if (existing === undefined || user.balance < amount)
    work.transfer(key, 'fill', Math.min(work.ledger.pool, room(user) - user.balance), user);
  work.transfer(key, 'hold', amount, user);
  work.saveUser(user);
  work.saveHold(openHold(id, userId, amount, deadline, work.now));
  return { ok: true, kind: 'hold', amount };
}

function repeated(known: Readonly<Hold>, operation: HoldOperation): Result {
  if (known.state === 'void') return refuse('hold_released');
  const same = known.userId === operation.userId && known.amount === operation.amount && known.deadline === operation.deadline;
  if (!same) return refuse('idempotency_conflict');
  return known.refusal ?? { ok: true, kind: 'hold', amount: known.amount };
}

function shortage(user: UserAccount, pool: number, amount: number): Refusal | null {
  if (amount > spendable(user)) return refuseShort('user_limit_reached', amount, room(user));
  const reachable = user.balance + pool;
  return amount > reachable ? refuseShort('credits_exhausted', amount, reachable) : null;
}

/** Charges an open hold, never above it, and records the use. The charge counts in the month it settles. */
export function settle(work: Workspace, operation: SettleOperation): Result {
  const held = work.hold(operation.id);
  if (held === undefined) work.saveHold(voidHold(operation.id, work.now));
  if (held === undefined || isForgotten(held, work.now)) return refuse('hold_not_found');
  switch (held.state) {
    case 'open':
      return charge(work, held, operation);
    case 'settled':
      if (held.settledAs !== settleFingerprint(operation)) return refuse('idempotency_conflict');
      return { ok: true, kind: 'settle', charge: held.charge };
    case 'released':
      return refuse('hold_released');
    case 'refused':
    case 'void':
      return refuse('hold_not_found');
  }
}

function charge(work: Workspace, held: Readonly<Hold>, operation: SettleOperation): Result {
  const credits = Math.min(operation.amount, held.amount);
  endHold(work, `settle:${held.id}`, held, credits);
  work.saveHold({ ...held, state: 'settled', charge: credits, settledAs: settleFingerprint(operation), endedAt: work.now });
  work.usage.push({ ...operation.usage, holdId: held.id, userId: held.userId, credits, at: work.now });
  return { ok: true, kind: 'settle', charge: credits };
}

/** Frees a hold. An id that is not known is remembered, so that a Hold overtaken by its Release is never granted. */
export function release(work: Workspace, operation: ReleaseOperation): Result {
  const held = work.hold(operation.id);
  if (held === undefined) {
    work.saveHold(voidHold(operation.id, work.now));
    return { ok: true, kind: 'release', released: 0 };
  }
  switch (held.state) {
    case 'open':
      endHold(work, `release:${held.id}`, held, 0);
      work.saveHold({ ...held, state: 'released', endedAt: work.now });
      return { ok: true, kind: 'release', released: held.amount };
    case 'released':
      return { ok: true, kind: 'release', released: held.amount };
    case 'settled':
      return refuse('hold_settled');
    case 'refused':
    case 'void':
      return { ok: true, kind: 'release', released: 0 };
  }
}

/** Moves a hold's credits on: the charge is spent, the rest is free again, and what the limit no longer allows is the pool's. */
export function endHold(work: Workspace, key: string, held: Readonly<Hold>, charge: number): void {
  const user = work.holder(held);
  turn(work, user);
  work.transfer(key, 'charge', charge, user);
  work.transfer(key, 'release', held.amount - charge, user);
  user.used += charge;
  work.transfer(key, 'return', Math.max(0, user.balance - room(user)), user);
  work.saveUser(user);
}

/** How long past its deadline an open hold waits before it is listed to its owner. */
export const HOLD_GRACE_MS = 60_000;

/** How long an ended hold is remembered. */
export const ENDED_HOLD_KEPT_MS = 7 * 86_400_000;

export function openHold(id: string, userId: string, amount: number, deadline: number, now: number): Hold {
  return { id, userId, amount, deadline, state: 'open', charge: 0, settledAs: null, refusal: null, createdAt: now, endedAt: null };
}

export function refusedHold(id: string, userId: string, amount: number, deadline: number, refusal: Refusal, now: number): Hold {
  return { id, userId, amount, deadline, state: 'refused', charge: 0, settledAs: null, refusal, createdAt: now, endedAt: now };
}

export function voidHold(id: string, now: number): Hold {
  return {
    id,
    userId: '',
    amount: 0,
    deadline: now,
    state: 'void',
    charge: 0,
    settledAs: null,
    refusal: null,
    createdAt: now,
    endedAt: now,
  };
}

/** True for an open hold that its owner should settle or release by now. */
export function isOverdue(hold: Hold, now: number): boolean {
  return hold.state === 'open' && now >= hold.deadline + HOLD_GRACE_MS;
}

/** True once the ended hold may be removed; from then on it answers as if it had been. */
export function isForgotten(hold: Hold, now: number): boolean {
  return hold.endedAt !== null && now - hold.endedAt > ENDED_HOLD_KEPT_MS;
}
