import { readFile } from 'node:fs/promises';
import { createClient } from '@agent-service/contracts';
import { openRedis, startWorker } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import type { DispatcherConfig } from './config.ts';
import { createReceiverAgent } from './http/agent.ts';
import { createDeliver } from './jobs/deliver.ts';

/** Deliveries in hand are given back after this, which is soon enough for what stops the process. */
const drainMs = 3_000;

/** Composes the process. */
export async function start(process: ProcessContext, config: DispatcherConfig): Promise<void> {
  const webhooks = createClient('webhooks', {
    address: config.WEBHOOKS_ADDRESS,
    as: 'webhook-dispatcher',
    config,
    clock: process.clock.follow(),
  });
  process.onStop('webhooks client', async () => webhooks.close());
  process.health.addCheck('webhooks', () => webhooks.checkHealth());
  const extraAuthorities = config.WEBHOOK_CA_FILE && (await readFile(config.WEBHOOK_CA_FILE, 'utf8'));
  const agent = createReceiverAgent({ allowed: config.WEBHOOK_ALLOWED_NETWORKS, extraAuthorities });
  process.onStop('receivers', () => agent.destroy());
  const redis = await openRedis(process, config);
  await startWorker(process, redis, 'deliveries', {
    concurrency: config.DELIVERY_JOBS_AT_ONCE,
    drainMs,
    handle: createDeliver({ process, webhooks, agent }),
  });
}
