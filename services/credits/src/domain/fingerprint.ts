import type { RememberedOperation, SettleOperation } from './operations.ts';

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
