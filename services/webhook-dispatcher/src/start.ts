import { readFile } from 'node:fs/promises';
import { openClient } from '@agent-service/contracts';
import { type JobWorker, openRedis, startWorker } from '@agent-service/queues';
import type { Clock, ProcessContext } from '@agent-service/runtime';
import { sleep } from '@agent-service/work';
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
  void pauseOnWrongClock(process, worker, () => webhooks.checkHealth());
}

const clockCheckMs = 500;

/**
 * A computer whose clock is wrong rejects valid certificates, and receivers would be disabled for it. The check throws until the
 * clock of webhooks has been measured, so that a process which starts with a wrong clock sends nothing either.
 */
async function pauseOnWrongClock(
  { clock, logger, stopping }: ProcessContext,
  worker: JobWorker,
  measure: () => Promise<void>,
): Promise<void> {
  let isPaused = false;
  do {
    const fault = clockFault(clock);
    if ((fault !== undefined) !== isPaused) {
      isPaused = fault !== undefined;
      if (isPaused) worker.pause();
      else worker.resume();
      logger.warn({ event: isPaused ? 'deliveries_paused' : 'deliveries_resumed', err: fault });
    }
    // A paused dispatcher calls nothing else that measures, and not every supervisor asks for the readiness of a process.
    if (isPaused) await measure().catch(() => undefined);
  } while (await sleep(clockCheckMs, stopping));
}

function clockFault(clock: Clock): unknown {
  try {
    clock.check();
    return undefined;
  } catch (cause) {
    return cause;
  }
}
