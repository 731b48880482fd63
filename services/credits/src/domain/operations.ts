import type { OrganizationBalance, Settings, UserBalance } from './accounts.ts';

/** Keeps the ceiling of an answer's tier for a user. `id` is the answer's and names the hold from then on. */
export interface HoldOperation {
  kind: 'hold';
  id: string;
  userId: string;
  amount: number;
  deadline: number;
}

/** What is recorded of an answer that was charged. */
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
 * Charges at most what is held and frees the rest. `amount` follows from tier and tokens by the price of the day, so it
 * is no part of the contents that a repeat is compared by; nor is the agent's name, which may have changed.
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

/** Brings a user's account into the current month, if it is not. User and month are its identity. */
export interface TurnOperation {
  kind: 'turn';
  userId: string;
}

/** Reads a user's balance, after the turn of the month. It is decided each time. */
export interface ReadOperation {
  kind: 'read';
  userId: string;
}

/** Operations remembered by an id of their own; a hold's are remembered by the hold. */
export type RememberedOperation = GrantOperation | AllocateOperation | SettingsOperation;

export type Operation = HoldOperation | SettleOperation | ReleaseOperation | RememberedOperation | TurnOperation | ReadOperation;

export interface Touched {
  /** Named by the operations; the users of the holds belong to the state as well. */
  users: Set<string>;
  holds: Set<string>;
  remembered: Set<string>;
}

/** What must be loaded for a batch. */
export function touchedBy(operations: readonly Operation[]): Touched {
  const touched: Touched = { users: new Set(), holds: new Set(), remembered: new Set() };
  for (const operation of operations) {
    if ('userId' in operation) touched.users.add(operation.userId);
    if (operation.kind === 'hold' || operation.kind === 'settle' || operation.kind === 'release') touched.holds.add(operation.id);
    else if ('id' in operation) touched.remembered.add(operation.id);
  }
  return touched;
}

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
  | 'invalid_request'
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

/** What a settle asks for. The free text stands last, so that no other field can run into it. */
export function settleFingerprint(operation: SettleOperation): number {
  const { agentId, conversationId, tier, inputTokens, outputTokens, querySummary } = operation.usage;
  return fingerprint(`${agentId}\n${conversationId}\n${tier}\n${inputTokens}\n${outputTokens}\n${querySummary}`);
}

export function operationFingerprint(operation: RememberedOperation): number {
  return fingerprint(JSON.stringify(contents(operation)));
}

function contents(operation: RememberedOperation): unknown[] {
  switch (operation.kind) {
    case 'grant':
      return ['grant', operation.amount];
    case 'allocate':
      return ['allocate', operation.userId, operation.monthlyLimit, operation.rollover];
    case 'settings': {
      const given = Object.entries(operation.changes).filter(([, value]) => value !== undefined);
      return ['settings', ...given.sort(([a], [b]) => (a < b ? -1 : 1))];
    }
  }
}

/**
 * 53 bits that fit a number and a bigint column: enough to notice a caller's mistake, which is all that hangs on it.
 * Two lanes, since one 32-bit lane would let one mistake in four billion pass.
 */
export function fingerprint(text: string): number {
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x5bd1e995) ^ (high >>> 15);
  }
  low ^= low >>> 16;
  high ^= high >>> 13;
  return (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0);
}
