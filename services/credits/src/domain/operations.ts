import type { OrganizationBalance, Settings, UserBalance } from './accounts.ts';

/** Reserves the ceiling of an answer's tier. `id` is the answer's id and from then on the hold's. */
export interface HoldOperation {
  kind: 'hold';
  id: string;
  userId: string;
  amount: number;
  deadline: number;
}

/** The usage of one answer, as it is recorded with its charge. */
export interface Usage {
  agentId: string;
  agentName: string;
  conversationId: string;
  tier: string;
  inputTokens: number;
  outputTokens: number;
  querySummary: string;
}

/**
 * Charges at most the amount of the hold and frees the rest. A repeat may have another `amount`, because prices change, and another name
 * of the agent; everything else must be the same.
 */
export interface SettleOperation {
  kind: 'settle';
  /** The hold's id. */
  id: string;
  amount: number;
  usage: Usage;
}

export interface ReleaseOperation {
  kind: 'release';
  /** The hold's id. */
  id: string;
}

export interface GrantOperation {
  kind: 'grant';
  id: string;
  amount: number;
}

export interface AllocateOperation {
  kind: 'allocate';
  id: string;
  userId: string;
  monthlyLimit: number;
  rollover: boolean;
}

export interface SettingsOperation {
  kind: 'settings';
  id: string;
  changes: Partial<Settings>;
}

/** Starts the current month in a user's account, unless it has been started. Repeating it has no effect. */
export interface StartMonthOperation {
  kind: 'start_month';
  userId: string;
}

/** Reads a user's balance, in the current month. */
export interface ReadOperation {
  kind: 'read';
  userId: string;
}

/** Operations whose results are stored by their id. Those on holds are stored with the hold. */
export type RememberedOperation = GrantOperation | AllocateOperation | SettingsOperation;

export type Operation = HoldOperation | SettleOperation | ReleaseOperation | RememberedOperation | StartMonthOperation | ReadOperation;

export type RefusalCode =
  /** The user's own limit does not allow it. */
  | 'user_limit_reached'
  /** The limit allows it, but neither the user's balance nor the pool has the credits. */
  | 'credits_exhausted'
  /** An allocation asks for more than the pool holds. */
  | 'insufficient_unallocated_credits'
  /** The id was used before, with other contents. */
  | 'idempotency_conflict'
  /** Never held, refused, or ended too long ago. */
  | 'hold_not_found'
  | 'hold_released'
  | 'hold_settled'
  /** An amount is not an integer within its bounds, or an id is empty. */
  | 'invalid_request'
  /** The tenant would have been issued more credits than can be counted exactly. */
  | 'issue_limit_reached';

export interface Shortage {
  required: number;
  available: number;
  /** The user's; only where the user's limit does not allow it. */
  monthlyLimit?: number;
  usedThisMonth?: number;
  /** Credits of the month before on top of the limit; absent if there are none. */
  carriedOver?: number;
}

export interface Refusal {
  ok: false;
  code: RefusalCode;
  /** Set for the three refusals for lack of credits. */
  shortage: Shortage | null;
}

export interface Allocation {
  userId: string;
  monthlyLimit: number;
  rolloverEnabled: boolean;
  effectiveFrom: number;
  updatedAt: number;
}

/** The limits of an allocation that differ from those before. */
export type AllocationChanges = Partial<Pick<Allocation, 'monthlyLimit' | 'rolloverEnabled'>>;

type Success =
  | { ok: true; kind: 'hold'; amount: number }
  | { ok: true; kind: 'settle'; charge: number }
  | { ok: true; kind: 'release'; released: number }
  | { ok: true; kind: 'grant'; amount: number }
  | { ok: true; kind: 'allocate'; allocation: Allocation; changes: AllocationChanges }
  | { ok: true; kind: 'settings'; organization: OrganizationBalance; changes: Partial<Settings> }
  | { ok: true; kind: 'start_month'; started: boolean }
  | { ok: true; kind: 'read'; user: UserBalance };

export type Result = Success | Refusal;
