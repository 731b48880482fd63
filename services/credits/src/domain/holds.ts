import { room, type UserAccount } from './accounts.ts';
import { dayMs } from './calendar.ts';
import type { HoldOperation, Refusal, ReleaseOperation, Result, SettleOperation } from './operations.ts';
import type { Hold } from './state.ts';
import { fingerprint, refuse, refuseShort, replenish, startMonth, type Workspace } from './workspace.ts';

export interface TierPrice {
  base: number;
  per1kInput: number;
  per1kOutput: number;
  /** The highest charge of an answer, and the amount of its hold. */
  ceiling: number;
}

interface Tokens {
  input: number;
  output: number;
}

/** Prices by tier name. */
export type PriceBook = Readonly<Record<string, TierPrice>>;

/** The price of a tier, or undefined. `hasOwn` because a caller's text may be the name of an inherited property. */
export function priceOf(prices: PriceBook, tier: string): TierPrice | undefined {
  return Object.hasOwn(prices, tier) ? prices[tier] : undefined;
}

/** The charge of an answer with this many tokens, in whole credits. */
export function chargeOf(price: TierPrice, tokens: Tokens): number {
  const exact = price.base + (tokens.input * price.per1kInput + tokens.output * price.per1kOutput) / 1000;
  return Math.min(price.ceiling, roundUp(exact));
}

/** Prices may have decimals: a rounding error of their sum must not cost a credit. */
function roundUp(credits: number): number {
  return Math.ceil(Math.round(credits * 1e6) / 1e6);
}

/** Reserves credits for an answer, or refuses. Later the hold is settled or released, and neither can lack credits. */
export function hold(work: Workspace, operation: HoldOperation): Result {
  const earlier = work.hold(operation.id);
  if (earlier !== undefined) return repeatHold(earlier, operation);

  const { id, userId, amount } = operation;
  const key = `hold:${id}`;
  replenish(work, key);
  const existing = work.user(userId);
  const user = existing ?? work.draftUser(userId, work.ledger.settings.defaultMonthlyLimit);
  startMonth(work, user);
  const refusal = findShortage(user, work.ledger.pool, amount);
  if (refusal !== null) {
    work.saveHold(refusedHold(operation, refusal, work.now));
    return refusal;
  }
  if (existing === undefined || user.balance < amount)
    work.transfer(key, 'fill', Math.min(work.ledger.pool, room(user) - user.balance), user);
  work.transfer(key, 'hold', amount, user);
  work.saveUser(user);
  work.saveHold(openHold(operation, work.now));
  return { ok: true, kind: 'hold', amount };
}

/** The result of a Hold whose id is known. */
function repeatHold(earlier: Readonly<Hold>, operation: HoldOperation): Result {
  if (earlier.state === 'void') return refuse('hold_released');
  const isSame = earlier.userId === operation.userId && earlier.amount === operation.amount && earlier.deadline === operation.deadline;
  if (!isSame) return refuse('idempotency_conflict');
  return earlier.refusal ?? { ok: true, kind: 'hold', amount: earlier.amount };
}

function findShortage(user: UserAccount, pool: number, amount: number): Refusal | null {
  const { monthlyLimit, used: usedThisMonth, carried } = user;
  if (amount > room(user)) {
    const limit = { monthlyLimit, usedThisMonth, ...(carried > 0 && { carriedOver: carried }) };
    return refuseShort('user_limit_reached', { required: amount, available: room(user), ...limit });
  }
  const reachable = user.balance + pool;
  return amount > reachable ? refuseShort('credits_exhausted', { required: amount, available: reachable }) : null;
}

/** Charges an open hold, never above its amount, and records the usage. The charge counts in the month of the Settle. */
export function settle(work: Workspace, operation: SettleOperation): Result {
  const hold = work.hold(operation.id);
  if (hold === undefined) work.saveHold(voidHold(operation.id, work.now));
  if (hold === undefined || isForgotten(hold, work.now)) return refuse('hold_not_found');
  switch (hold.state) {
    case 'open':
      return charge(work, hold, operation);
    case 'settled':
      if (hold.settledAs !== settleFingerprint(operation)) return refuse('idempotency_conflict');
      return { ok: true, kind: 'settle', charge: hold.charge };
    case 'released':
      return refuse('hold_released');
    case 'refused':
    case 'void':
      return refuse('hold_not_found');
  }
}

function charge(work: Workspace, hold: Readonly<Hold>, operation: SettleOperation): Result {
  const credits = Math.min(operation.amount, hold.amount);
  endHold(work, `settle:${hold.id}`, hold, credits);
  work.saveHold({ ...hold, state: 'settled', charge: credits, settledAs: settleFingerprint(operation), endedAt: work.now });
  work.usage.push({ ...operation.usage, holdId: hold.id, userId: hold.userId, credits, at: work.now });
  return { ok: true, kind: 'settle', charge: credits };
}

/** Frees a hold. An unknown id is stored, so that a Hold that arrives after its Release is refused. */
export function release(work: Workspace, operation: ReleaseOperation): Result {
  const hold = work.hold(operation.id);
  if (hold === undefined) {
    work.saveHold(voidHold(operation.id, work.now));
    return { ok: true, kind: 'release', released: 0 };
  }
  switch (hold.state) {
    case 'open':
      endHold(work, `release:${hold.id}`, hold, 0);
      work.saveHold({ ...hold, state: 'released', endedAt: work.now });
      return { ok: true, kind: 'release', released: hold.amount };
    case 'released':
      return { ok: true, kind: 'release', released: hold.amount };
    case 'settled':
      return refuse('hold_settled');
    case 'refused':
    case 'void':
      return { ok: true, kind: 'release', released: 0 };
  }
}

/** Spends the charge and frees the rest of a hold. Credits above the user's limit, which may have been lowered, go to the pool. */
function endHold(work: Workspace, key: string, hold: Readonly<Hold>, charge: number): void {
  const user = work.holder(hold);
  startMonth(work, user);
  work.transfer(key, 'charge', charge, user);
  work.transfer(key, 'release', hold.amount - charge, user);
  user.used += charge;
  work.transfer(key, 'return', Math.max(0, user.balance - room(user)), user);
  work.saveUser(user);
}

/** The contents of a Settle as a number. The free text is last, so that its text cannot look like another field. */
function settleFingerprint(operation: SettleOperation): number {
  const { agentId, conversationId, tier, inputTokens, outputTokens, querySummary } = operation.usage;
  return fingerprint(`${agentId}\n${conversationId}\n${tier}\n${inputTokens}\n${outputTokens}\n${querySummary}`);
}

/** The time after its deadline at which an open hold is listed as overdue. */
export const holdGraceMs = 60_000;

/** The time for which an ended hold is stored. */
export const endedHoldKeptMs = 7 * dayMs;

export function openHold({ id, userId, amount, deadline }: Omit<HoldOperation, 'kind'>, now: number): Hold {
  return { id, userId, amount, deadline, state: 'open', charge: 0, settledAs: null, refusal: null, createdAt: now, endedAt: null };
}

function refusedHold({ id, userId, amount, deadline }: HoldOperation, refusal: Refusal, now: number): Hold {
  return { id, userId, amount, deadline, state: 'refused', charge: 0, settledAs: null, refusal, createdAt: now, endedAt: now };
}

function voidHold(id: string, now: number): Hold {
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

/** True if the ended hold may be removed. From then on it counts as removed. */
function isForgotten(hold: Hold, now: number): boolean {
  return hold.endedAt !== null && now - hold.endedAt > endedHoldKeptMs;
}
