import { createClient } from '@agent-service/contracts';
import { createModels } from '@agent-service/models';
import { readModelsFile } from '@agent-service/models/models-file';
import { createPublisher, openChannel, openRedis, type Reply, startWorker, type WorkerNotice } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import { createAnswersApi } from './answers/answers-api.ts';
import type { AnswerWorkerConfig } from './config.ts';
import type { WorkerContext } from './context.ts';
import { createHand } from './hand/hand.ts';
import { startLeases } from './hand/leases.ts';
import { createAnswerHandler } from './jobs/answer.ts';
import { createMeters } from './meters.ts';
import { createReplies } from './replies/replies.ts';
import { createAnswerTools } from './tools/answer-tools.ts';
import { createTenantSources } from './tools/sources.ts';

export interface Timing {
  readonly now?: () => number;
  readonly renewEveryMs?: number;
}

/** A third of a lease's life. */
const usualRenewalMs = 5_000;

/** Composes the worker. Parts stop in reverse: first no new jobs and those in hand, then their leases, then what both need. */
export async function start(
  process: ProcessContext,
  config: AnswerWorkerConfig,
  { now = Date.now, renewEveryMs = usualRenewalMs }: Timing = {},
): Promise<void> {
  const models = createModels(process, await readModelsFile(config.MODELS_FILE), { env: config.modelKeys });
  const agents = createClient('agents', { address: config.AGENTS_ADDRESS, as: 'answer-worker', config });
  process.onStop('agents client', async () => agents.close());
  process.health.addCheck('agents', () => agents.checkHealth());
  const redis = await openRedis(process, config);
  process.health.addCheck('redis', () => redis.commands.ping());

  const hand = createHand(now);
  const channel = await openChannel<WorkerNotice>(process, redis, 'worker', (notices) => {
    for (const { id, attempt } of notices) hand.interrupt(id, attempt, 'unwanted');
  });
  const meters = createMeters(process.metrics);
  const answers = createAnswersApi(agents, channel.name);
  const dataParts = { agents, sources: createTenantSources(process, { roles: config.DATA_SOURCE_ROLES }), meters, now };
  const publisher = createPublisher<Reply>(process, redis);
  const context: WorkerContext = {
    answers,
    hand,
    models,
    toolsOf: (working) => createAnswerTools(dataParts, working),
    replies: createReplies((name, reply) => publisher.publish(name, reply)),
    meters,
    logger: process.logger,
    now,
  };
  startLeases(process, context, renewEveryMs);
  await startWorker(process, redis, 'answer', {
    concurrency: config.ANSWER_CONCURRENCY,
    drainMs: config.ANSWER_DRAIN_MS,
    handle: createAnswerHandler(context),
  });
}
