import type { Metrics, ProcessContext } from '@agent-service/runtime';

const known = new WeakMap<Metrics, ReturnType<typeof register>>();

function register(metrics: Metrics) {
  /** For each queue that this process adds jobs to, the function that counts its waiting jobs. */
  const waitingCounts = new Map<string, () => Promise<number>>();
  metrics.gauge('jobs_waiting', 'Jobs that no worker has taken', ['queue'], async (waiting) => {
    // While Redis is away the gauge has no value, instead of an old one.
    waiting.reset();
    const counts = await Promise.allSettled([...waitingCounts].map(async ([queue, count]) => ({ queue, count: await count() })));
    for (const each of counts) if (each.status === 'fulfilled') waiting.set({ queue: each.value.queue }, each.value.count);
  });
  return {
    waitingCounts,
    active: metrics.gauge('jobs_active', 'Jobs that this process runs', ['queue']),
    seconds: metrics.seconds('jobs_seconds', 'How long jobs took, by outcome: done, failed, refused', ['queue', 'outcome']),
    faults: metrics.counter('queue_faults_total', 'Errors between a worker and its queue, by kind: lock, other', ['queue', 'kind']),
    lost: metrics.counter('channel_messages_lost_total', 'Messages that could not be published', []),
  };
}

/** The metrics of this process, registered once however many queues and channels it has. */
export function queueMetrics({ metrics }: ProcessContext): ReturnType<typeof register> {
  const registered = known.get(metrics) ?? register(metrics);
  known.set(metrics, registered);
  return registered;
}
