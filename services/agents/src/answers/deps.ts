import { randomUUID } from 'node:crypto';
import { withCall } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { judgeStatement } from '@agent-service/store';
import type { SlowTenants, TenantLanes } from '@agent-service/work';
import type { AgentsBase } from '../base.ts';
import type { Background } from './background.ts';
import type { AnswerJobs } from './jobs.ts';
import type { TenantKey } from './keys.ts';

/** Dependencies of the answers module. */
export interface AnswersDeps
  extends Pick<AgentsBase, 'store' | 'credits' | 'replies' | 'notices' | 'limits' | 'events' | 'eventRelay' | 'now'> {
  readonly process: ProcessContext;
  readonly background: Background;
  readonly metrics: AnswerMetrics;
  readonly jobs: AnswerJobs;
  /** Tenants whose locks, statements or ledgers timed out lately. */
  readonly slowTenants: SlowTenants;
}

/** Batches of one kind that a process sends at once, where several tenants are busy. */
const shards = 4;

/** The options of every batcher of this module: they keep tenants apart. */
export const batchOptions = <Item extends TenantKey>({ slowTenants }: Pick<AnswersDeps, 'slowTenants'>) => ({
  judge: judgeStatement,
  tenants: { of: (item: Item) => item, lanes: shards, slow: slowTenants } satisfies TenantLanes<Item>,
});

/** Runs work of a batch as a call of its own, so that it does not inherit the deadline or the principal of its first item. */
export const callDetached = <T>(limitMs: number, work: () => Promise<T>): Promise<T> =>
  withCall({ requestId: randomUUID(), expiresAt: performance.now() + limitMs }, work);

export type Outcome = 'completed' | 'failed' | 'cancelled';

export interface AnswerMetrics {
  accepted(): void;
  ended(outcome: Outcome, durationMs: number): void;
  settled(durationMs: number): void;
  redispatched(reason: 'lease' | 'died' | 'lost' | 'doubtful' | 'returned', count: number): void;
  counts(counts: { waiting: number; inFlight: number }): void;
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
    counts(counts) {
      waiting.set(counts.waiting);
      inFlight.set(counts.inFlight);
    },
  };
}
