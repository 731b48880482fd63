import type { Sql } from '@agent-service/store';
import type { AnswerLimits } from '../base.ts';
import { type Admission, admit } from './domain/admission.ts';
import { keyKeptMs } from './domain/times.ts';
import { type Asked, type Circumstances, type KeptKey, loadCircumstances, loadKeys } from './store/load.ts';

/** A message as the gateway hands it over. */
export interface Question extends Asked {
  readonly message: string;
  readonly contextJson: string;
  readonly replyChannel: string;
  readonly stream: boolean;
  readonly idempotencyScope: string;
  readonly idempotencyFingerprint: string;
  readonly requestId: string;
  readonly traceparent: string;
  /** When its caller is told that it took too long, by the machine's clock. */
  readonly callerExpiresAt: number;
  /** Whether its caller has gone away. */
  readonly hasLeft: () => boolean;
}

export interface Decision {
  readonly question: Question;
  readonly admission: Admission;
  readonly tier: string;
  readonly lineFound: boolean;
  /** Its key named an answer that is too old to be named. */
  readonly keyOutlived: boolean;
}

export interface Admissions {
  /** What becomes of these, as things stand; in their order. */
  decide(questions: readonly Question[]): Promise<Decision[]>;
}

export function createAdmissions(sql: Sql, limits: AnswerLimits, now: () => number): Admissions {
  return {
    async decide(questions) {
      if (questions.length === 0) return [];
      const [circumstances, keys] = await Promise.all([loadCircumstances(sql, questions), loadKeys(sql, questions)]);
      const keyOf = new Map(keys.map((key) => [key.n, key]));
      return questions.map((question, n) => {
        const found = circumstances[n] as Circumstances;
        const key = keyOf.get(n);
        return {
          question,
          admission: admit(situationOf(question, found, key), limits, now()),
          tier: found.tier ?? '',
          lineFound: found.waiting !== null,
          keyOutlived: key !== undefined && key.createdAt <= now() - keyKeptMs,
        };
      });
    },
  };
}

const situationOf = (question: Question, found: Circumstances, key: KeptKey | undefined) => ({
  continues: question.conversationId !== '',
  agentStatus: found.agentStatus,
  conversationFound: found.conversationFound,
  conversationBusy: found.conversationBusy,
  waiting: found.waiting ?? 0,
  inFlight: found.inFlight ?? 0,
  accepted: acceptedFor(question, found),
  key,
  fingerprint: question.idempotencyFingerprint,
});

function acceptedFor({ userId, agentId }: Question, { acceptedBy, acceptedAgent }: Circumstances): 'no' | 'forThisCaller' | 'forAnother' {
  if (acceptedBy === null) return 'no';
  return acceptedBy === userId && acceptedAgent === agentId ? 'forThisCaller' : 'forAnother';
}
