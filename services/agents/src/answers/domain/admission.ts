import { keyRetentionMs } from '../../shared/answer.ts';

/** The facts that decide about a message before its credits are held. */
export interface Situation {
  readonly continues: boolean;
  readonly agentStatus: string | null;
  /** The conversation that it continues is this user's with this agent. */
  readonly conversationFound: boolean;
  readonly conversationBusy: boolean;
  readonly waiting: number;
  readonly inFlight: number;
  /** Earlier acceptance of the same answer id. */
  readonly accepted: 'no' | 'forThisCaller' | 'forAnotherCaller';
  /** The answer that its Idempotency-Key names. */
  readonly key: { readonly fingerprint: string; readonly answerId: string; readonly createdAt: number } | undefined;
  readonly fingerprint: string;
}

export type Admission =
  | { readonly kind: 'admit' }
  /** The message was accepted before. */
  | { readonly kind: 'repeat' }
  /** Its Idempotency-Key names another answer. */
  | { readonly kind: 'attach'; readonly answerId: string }
  | {
      readonly kind: 'refuse';
      readonly code: 'idempotency_key_reused' | 'not_found' | 'agent_not_active' | 'conversation_busy' | 'too_many_waiting';
      /** The field whose id is unknown. */
      readonly param?: 'agent_id' | 'conversation_id';
    };

type RefusedAdmission = Extract<Admission, { kind: 'refuse' }>;

const refuse = (code: RefusedAdmission['code'], param?: RefusedAdmission['param']): Admission => ({
  kind: 'refuse',
  code,
  ...(param && { param }),
});

export const isExpired = (key: Situation['key'], now: number): boolean => key !== undefined && key.createdAt <= now - keyRetentionMs;

/** Decides about a message. One that was accepted stays accepted, even if limits or states have changed since. */
export function admit(situation: Situation, limits: { inFlight: number; waiting: number }, now: number): Admission {
  if (situation.accepted === 'forThisCaller') return { kind: 'repeat' };
  if (situation.accepted === 'forAnotherCaller') return refuse('not_found');
  if (situation.agentStatus === null) return refuse('not_found', 'agent_id');
  const { key } = situation;
  if (key && !isExpired(key, now)) {
    return key.fingerprint === situation.fingerprint ? { kind: 'attach', answerId: key.answerId } : refuse('idempotency_key_reused');
  }
  if (situation.agentStatus !== 'active') return refuse('agent_not_active');
  if (situation.continues && !situation.conversationFound) return refuse('not_found', 'conversation_id');
  if (situation.continues && situation.conversationBusy) return refuse('conversation_busy');
  if (situation.inFlight >= limits.inFlight && situation.waiting >= limits.waiting) return refuse('too_many_waiting');
  return { kind: 'admit' };
}
