import { createClient, serve } from '@agent-service/contracts';
import { createProducer, createPublisher, openRedis, type Reply, type WorkerNotice } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import { createCursors, migrate, openCipher, openEventRelay, openStore, relayAudit } from '@agent-service/store';
import { createAnswers } from './answers/answers.ts';
import type { AgentsBase } from './base.ts';
import type { AgentsConfig } from './config.ts';
import { createSources } from './data-sources/sources.ts';
import { sealedUrls } from './data-sources/store/sealed-urls.ts';
import { implementation } from './rpc/index.ts';
import { migrations } from './store/migrations/index.ts';
import { startSweeps } from './sweeps.ts';

const schema = 'agents';

/** Composes the service; answers with its gRPC port. */
export async function start(process: ProcessContext, config: AgentsConfig, now: () => number = process.clock.now): Promise<number> {
  await migrate({ url: config.DATABASE_URL, schema, migrations });
  const base = await createBase(process, config, now);
  const context = { ...base, answers: await createAnswers(process, base) };
  startSweeps(process, context);
  return await serve(process, config, 'agents', implementation(context));
}

async function createBase(process: ProcessContext, config: AgentsConfig, now: () => number): Promise<AgentsBase> {
  const store = await openStore(process, config, { schema, entities: [] });
  const redis = await openRedis(process, config);
  const identity = createClient('identity', { address: config.IDENTITY_ADDRESS, as: 'agents', config });
  const credits = createClient('credits', { address: config.CREDITS_ADDRESS, as: 'agents', config });
  process.onStop('identity client', async () => identity.close());
  process.onStop('credits client', async () => credits.close());
  return {
    store,
    sources: createSources(process, store, await openCipher(process, store, config, [sealedUrls])),
    logger: process.logger,
    cursors: createCursors(config.CURSOR_SECRET),
    redis,
    jobs: createProducer(process, redis, 'answer'),
    apartJobs: createProducer(process, redis, 'answerApart'),
    replies: createPublisher<Reply>(process, redis),
    notices: createPublisher<WorkerNotice>(process, redis),
    credits,
    auditRelay: relayAudit(process, store, identity),
    eventRelay: openEventRelay(process, store, config, 'agents'),
    limits: {
      inFlight: config.ORGANIZATION_ANSWERS_IN_FLIGHT,
      waiting: config.ORGANIZATION_ANSWERS_WAITING,
      deadlineMs: config.ANSWER_DEADLINE_SECONDS * 1000,
    },
    events: config.WEBHOOKS_ENABLED,
    now,
  };
}
