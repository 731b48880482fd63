import { keyKeptMs } from './times.ts';

/** What is known about a message before its credits are held. */
export interface Situation {
  readonly continues: boolean;
  readonly agentStatus: string | null;
  readonly conversationFound: boolean;
  readonly conversationBusy: boolean;
  readonly waiting: number;
  readonly inFlight: number;
  /** Whether this very answer was accepted before, and for whom. */
  readonly accepted: 'no' | 'forThisCaller' | 'forAnother';
  /** What its Idempotency-Key names already. */
  readonly key: { readonly fingerprint: string; readonly answerId: string; readonly createdAt: number } | undefined;
  readonly fingerprint: string;
}

export type Admission =
  | { readonly kind: 'admit' }
  /** It is the same message again. */
  | { readonly kind: 'again' }
  /** Another answer goes by its key. */
  | { readonly kind: 'attach'; readonly answerId: string }
  | {
      readonly kind: 'refuse';
      readonly code: 'idempotency_key_reused' | 'not_found' | 'agent_not_active' | 'conversation_busy' | 'too_many_waiting';
    };

const refuse = (code: Extract<Admission, { kind: 'refuse' }>['code']): Admission => ({ kind: 'refuse', code });

/** What becomes of a message. What was accepted once stays so, whatever has changed since. */
export function admit(situation: Situation, limits: { inFlight: number; waiting: number }, now: number): Admission {
  if (situation.accepted === 'forThisCaller') return { kind: 'again' };
  if (situation.accepted === 'forAnother') return refuse('not_found');
  if (situation.agentStatus === null) return refuse('not_found');
  const { key } = situation;
  if (key && key.createdAt > now - keyKeptMs) {
    return key.fingerprint === situation.fingerprint ? { kind: 'attach', answerId: key.answerId } : refuse('idempotency_key_reused');
  }
  if (situation.agentStatus !== 'active') return refuse('agent_not_active');
  if (situation.continues && !situation.conversationFound) return refuse('not_found');
  if (situation.continues && situation.conversationBusy) return refuse('conversation_busy');
  if (situation.inFlight >= limits.inFlight && situation.waiting >= limits.waiting) return refuse('too_many_waiting');
  return { kind: 'admit' };
}
