import type { ProcessContext } from '@agent-service/runtime';
import { createStatementGate, type GateOptions, type StatementGate } from './statement-gate.ts';

/** A gate that ends with the process, makes it unready while no thread can be started, and reports to its log and metrics. */
export function openStatementGate(
  { logger, metrics, health, onStop }: ProcessContext,
  options: Pick<GateOptions, 'threads'> = {},
): StatementGate {
  const threads = metrics.gauge('statement_gate_threads', 'Threads that are ready to judge statements', []);
  const lost = metrics.counter('statement_gate_threads_lost_total', 'Threads that had to be replaced or could not be started', ['reason']);
  const seconds = metrics.seconds('statement_gate_seconds', 'One statement in its thread', ['outcome']);
  const gate = createStatementGate({
    ...options,
    listener: {
      onThreads: (ready) => threads.set(ready),
      onLost(reason, cause) {
        lost.inc({ reason });
        logger.warn({ event: 'statement_gate_thread_lost', reason, err: cause });
      },
      onDone: (outcome, duration) => seconds.observe({ outcome }, duration),
    },
  });
  health.addCheck('statement gate', gate.check);
  onStop('statement gate', () => gate.close());
  return gate;
}
