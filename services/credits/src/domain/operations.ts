import type { Settings } from './settings.ts';

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
