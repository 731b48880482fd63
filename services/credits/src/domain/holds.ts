import type { Refusal } from './results.ts';

/**
 * `refused` and `void` hold no credits. They remember an id: `refused` a Hold that was turned down, `void` a Release or
 * Settle that came before its Hold, which then is never granted.
 */
export type HoldState = 'open' | 'settled' | 'released' | 'refused' | 'void';

export interface Hold {
  id: string;
  /** Empty where the hold was ended before it was asked for. */
  userId: string;
  amount: number;
  /** When the answer must be there. The ledger lists what is past it and ends nothing by itself. */
  deadline: number;
  state: HoldState;
  charge: number;
  /** What the hold was settled with, so that a repeat with other contents is told from a repeat. */
  settledAs: number | null;
  refusal: Refusal | null;
  createdAt: number;
  endedAt: number | null;
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
