import type { ProcessContext } from '@agent-service/runtime';

export type Outcome = 'completed' | 'failed' | 'cancelled';

/** What operators see of answers. */
export interface AnswerMetrics {
  accepted(): void;
  ended(outcome: Outcome, durationMs: number): void;
  settled(durationMs: number): void;
  redispatched(reason: 'lease' | 'died' | 'lost' | 'doubtful' | 'returned', count: number): void;
  standing(counts: { waiting: number; inFlight: number }): void;
}

export function createAnswerMetrics({ metrics }: ProcessContext): AnswerMetrics {
  const accepted = metrics.counter('answers_accepted_total', 'Messages accepted', []);
  const ended = metrics.counter('answers_ended_total', 'Answers ended, by outcome', ['outcome']);
  const seconds = metrics.seconds('answer_seconds', 'From acceptance to the end of an answer', ['outcome']);
  const settle = metrics.seconds('answer_settle_seconds', 'From a stored result to its settled end', []);
  const redispatched = metrics.counter('answers_redispatched_total', 'Answers given another job, by reason', ['reason']);
  const waiting = metrics.gauge('answers_waiting', 'Answers of all tenants that wait to be dispatched', []);
  const inFlight = metrics.gauge('answers_in_flight', 'Answers of all tenants that are dispatched, running or settling', []);
  return {
    accepted: () => accepted.inc(),
    ended(outcome, durationMs) {
      ended.inc({ outcome });
      seconds.observe({ outcome }, Math.max(0, durationMs) / 1000);
    },
    settled: (durationMs) => settle.observe(durationMs / 1000),
    redispatched: (reason, count) => redispatched.inc({ reason }, count),
    standing(counts) {
      waiting.set(counts.waiting);
      inFlight.set(counts.inFlight);
    },
  };
}
