import type { Operation, Refusal, Result, Usage } from '../operations.ts';
import type { LedgerInMemory } from './ledger-in-memory.ts';

/** 15 January 2026, and the two months after. */
export const january = Date.UTC(2026, 0, 15);
export const february = Date.UTC(2026, 1, 1);
export const march = Date.UTC(2026, 2, 1);

export const exampleUsage: Usage = {
  agentId: 'agt_1',
  agentName: 'Sales',
  conversationId: 'conv_1',
  tier: 'Fast',
  inputTokens: 100,
  outputTokens: 50,
  querySummary: 'How much?',
};

export const op = {
  hold: (id: string, userId: string, amount: number): Operation => ({ kind: 'hold', id, userId, amount, deadline: january }),
  settle: (id: string, amount: number): Operation => ({ kind: 'settle', id, amount, usage: exampleUsage }),
  release: (id: string): Operation => ({ kind: 'release', id }),
  grant: (id: string, amount: number): Operation => ({ kind: 'grant', id, amount }),
  limit: (id: string, userId: string, monthlyLimit: number, rollover = false): Operation => ({
    kind: 'allocate',
    id,
    userId,
    monthlyLimit,
    rollover,
  }),
  startMonth: (userId: string): Operation => ({ kind: 'start_month', userId }),
  read: (userId: string): Operation => ({ kind: 'read', userId }),
};

/** Holds and settles the amount. */
export function spend(ledger: LedgerInMemory, now: number, id: string, userId: string, amount: number): Result[] {
  return ledger.run(now, [op.hold(id, userId, amount), op.settle(id, amount)]).results;
}

export function refusal(code: Refusal['code'], required?: number, available?: number): Refusal {
  return { ok: false, code, shortage: required === undefined || available === undefined ? null : { required, available } };
}

/** The refusal of a user whose limit does not allow the hold. */
export const overLimit = (required: number, available: number, monthlyLimit: number, usedThisMonth: number): Refusal => ({
  ok: false,
  code: 'user_limit_reached',
  shortage: { required, available, monthlyLimit, usedThisMonth },
});
