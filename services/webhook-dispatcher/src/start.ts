import { readFile } from 'node:fs/promises';
import { openClient } from '@agent-service/contracts';
import { createReachabilityCheck, openRedis, pauseOnFault, startWorker } from '@agent-service/queues';
import type { Clock, ProcessContext } from '@agent-service/runtime';
import type { DispatcherConfig } from './config.ts';
import { createDeliver } from './deliver.ts';
import { createReceiverAgent } from './receiver-connections.ts';

/** Deliveries in flight are returned after this, well before a stopping process is killed. */
const drainMs = 3_000;

/** Composes the process. */
export async function start(process: ProcessContext, config: DispatcherConfig): Promise<void> {
  const webhooks = openClient(process, 'webhooks', {
    address: config.WEBHOOKS_ADDRESS,
    as: 'webhook-dispatcher',
    config,
    followsClock: true,
  });
  process.health.addCheck('webhooks', () => webhooks.checkHealth());
  const extraAuthorities = config.WEBHOOK_CA_FILE && (await readFile(config.WEBHOOK_CA_FILE, 'utf8'));
  const agent = createReceiverAgent({ allowed: config.WEBHOOK_ALLOWED_NETWORKS, extraAuthorities });
  process.onStop('receivers', () => agent.destroy());
  const redis = await openRedis(process, config);
  const worker = await startWorker(process, redis, 'deliveries', {
    concurrency: config.DELIVERY_JOBS_AT_ONCE,
    drainMs,
    handle: createDeliver({ process, webhooks, agent }),
  });
  const findUnreachable = createReachabilityCheck('webhooks', webhooks);
  void pauseOnFault(process, {
    workers: [worker],
    findFault: () => findClockFault(process.clock) ?? findUnreachable(),
    // It measures the clock as well, and not every supervisor asks for the readiness of a process.
    whilePaused: () => webhooks.checkHealth().catch(() => undefined),
  });
}

/**
 * A computer whose clock is wrong rejects valid certificates, and receivers would be disabled for it. The check throws until the
 * clock of webhooks has been measured, so that a process which starts with a wrong clock sends nothing either.
 */
function findClockFault(clock: Clock): unknown {
  try {
    clock.check();
    return undefined;
  } catch (cause) {
    return cause;
  }
}
