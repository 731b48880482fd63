import type { Metrics, ProcessContext } from '@agent-service/runtime';

interface JobMetrics {
  active(count: number): void;
  ended(outcome: string, durationMs: number): void;
}

const known = new WeakMap<Metrics, ReturnType<typeof register>>();

function register(metrics: Metrics) {
  return {
    active: metrics.gauge('jobs_active', 'Jobs in the hands of this process', ['queue']),
    seconds: metrics.seconds('jobs_seconds', 'How long jobs took, by outcome: done, failed, refused', ['queue', 'outcome']),
    faults: metrics.counter('queue_faults_total', 'What went wrong between a worker and its queue, by kind: lock, other', [
      'queue',
      'kind',
    ]),
    lost: metrics.counter('channel_messages_lost_total', 'Messages that could not be published', []),
  };
}

/** The metrics of this process, made once however many queues and channels it has. */
export function queueMetrics({ metrics }: ProcessContext): ReturnType<typeof register> {
  const made = known.get(metrics) ?? register(metrics);
  known.set(metrics, made);
  return made;
}

export function jobMetrics(process: ProcessContext, queue: string): JobMetrics {
  const { active, seconds } = queueMetrics(process);
  return {
    active: (count) => active.set({ queue }, count),
    ended: (outcome, durationMs) => seconds.observe({ queue, outcome }, durationMs / 1_000),
  };
}
