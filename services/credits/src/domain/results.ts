import type { OrganizationBalance, UserBalance } from './accounts.ts';

export type RefusalCode =
  /** The user's own limit does not allow it. */
  | 'user_limit_reached'
  /** The limit would allow it, the credits are not there. */
  | 'credits_exhausted'
  /** An allocation asks for more than the pool holds. */
  | 'insufficient_unallocated_credits'
  /** The id was used before with other contents. */
  | 'idempotency_conflict'
  /** Never held, refused, or ended too long ago. */
  | 'hold_not_found'
  | 'hold_released'
  | 'hold_settled'
  /** An amount is no integer, below zero or beyond its bound. */
  | 'invalid_operation'
  /** The tenant would have been issued more credits than can be counted exactly. */
  | 'issue_limit_reached';

export interface Shortage {
  required: number;
  available: number;
}

export interface Refusal {
  ok: false;
  code: RefusalCode;
  /** Set for the three refusals that are about missing credits. */
  shortage: Shortage | null;
}

export interface Allocation {
  userId: string;
  monthlyLimit: number;
  rolloverEnabled: boolean;
  effectiveFrom: number;
  updatedAt: number;
}

export type Success =
  | { ok: true; kind: 'hold'; amount: number }
  | { ok: true; kind: 'settle'; charge: number }
  | { ok: true; kind: 'release'; released: number }
  | { ok: true; kind: 'grant'; amount: number }
  | { ok: true; kind: 'allocate'; allocation: Allocation }
  | { ok: true; kind: 'settings'; organization: OrganizationBalance }
  | { ok: true; kind: 'turn'; turned: boolean }
  | { ok: true; kind: 'read'; user: UserBalance };

export type Result = Success | Refusal;

export function refuse(code: RefusalCode): Refusal {
  return { ok: false, code, shortage: null };
}

export function refuseShort(code: RefusalCode, required: number, available: number): Refusal {
  return { ok: false, code, shortage: { required, available } };
}
