import { type Client, createFairLimiter, openClient, serve } from '@agent-service/contracts';
import { createNoticePublisher, createProducer, createReplyPublisher, openRedis } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import {
  createCursors,
  migrate,
  openCipher,
  openEventRelay,
  openStore,
  outboxMethods,
  relayAudit,
  startSweep,
  sweepIdempotency,
  waitForDatabase,
} from '@agent-service/store';
import {
  AgentCategoryCountEntity,
  AgentCountEntity,
  AgentEntity,
  agentMethods,
  countStatements,
  DeletedAgentEntity,
  deletedAgentStatements,
  startAgentSweep,
} from './agents/index.ts';
import {
  AnswerEntity,
  AnswerKeyEntity,
  AnswerLineEntity,
  type AnswersServiceDeps,
  answerMethods,
  answerStatements,
  createAnswers,
} from './answers/index.ts';
import type { AgentsConfig } from './config.ts';
import {
  ConversationCountEntity,
  ConversationEntity,
  conversationMethods,
  conversationsStatements,
  MessageEntity,
  MessageFeedbackEntity,
  startConversationSweep,
} from './conversations/index.ts';
import {
  AnswerStepEntity,
  createSources,
  DataSourceEntity,
  dataSourceStatements,
  sealedUrls,
  startStepSweeps,
} from './data-sources/index.ts';
import { dataSourceMethods } from './data-sources/rpc/index.ts';
import type { ServiceDeps } from './shared/deps.ts';
import { migrations } from './store/migrations/index.ts';

const schema = 'agents';
/** Limits the databases that users of the portal connect or test at once. An organization waits only for its own. */
const connectLimits = { permits: 16, maxWaiting: 2 };
/**
 * Limits the lists that may read every agent of an organization to a quarter of the connections: changes may take half of them, and messages need
 * the rest. As many lists may wait as one key may request in a minute.
 */
const longListLimits = (connections: number) => ({ permits: Math.ceil(connections / 4), maxWaiting: 600 });

/** Composes the service; resolves to its gRPC port. */
export async function start(process: ProcessContext, config: AgentsConfig, now: () => number = process.clock.now): Promise<number> {
  await waitForDatabase(process, config.DATABASE_URL);
  await migrate({ url: config.DATABASE_URL, schema, migrations });
  const identity = openClient(process, 'identity', { address: config.IDENTITY_ADDRESS, as: 'agents', config });
  process.health.addCheck('identity', () => identity.checkSignature());
  const serviceDeps = await createServiceDeps(process, config, identity, now);
  const { store, auditRelay } = serviceDeps;
  const sources = createSources(
    process,
    store,
    await openCipher(process, store, config, [sealedUrls]),
    config.DATA_SOURCE_ALLOWED_NETWORKS,
  );
  const answers = await createAnswers(process, serviceDeps);
  startAgentSweep(process, serviceDeps);
  startConversationSweep(process, serviceDeps);
  startStepSweeps(process, serviceDeps);
  startSweep(process, 'idempotency', 60_000, () => sweepIdempotency(store.sql));
  return await serve(process, config, 'agents', {
    ...agentMethods({
      ...serviceDeps,
      sources,
      longLists: createFairLimiter(longListLimits(config.DATABASE_POOL_MAX)),
      failAnswersOfAgent: (...agent) => answers.failAnswersOfAgent(...agent),
    }),
    ...conversationMethods(serviceDeps),
    ...dataSourceMethods({ ...serviceDeps, sources, identity, connecting: createFairLimiter(connectLimits) }),
    ...answerMethods({ ...serviceDeps, answers }),
    ...outboxMethods(store, () => auditRelay.nudge()),
  });
}

async function createServiceDeps(
  process: ProcessContext,
  config: AgentsConfig,
  identity: Client<'identity'>,
  now: () => number,
): Promise<ServiceDeps & AnswersServiceDeps> {
  const store = await openStore(process, config, { schema, entities });
  const redis = await openRedis(process, config);
  const credits = openClient(process, 'credits', { address: config.CREDITS_ADDRESS, as: 'agents', config });
  process.health.addCheck('credits', () => credits.checkSignature());
  const jobs = createProducer(process, redis, 'answer');
  process.health.addImpairment(() => !credits.isReachable() || !jobs.isConnected);
  return {
    store,
    logger: process.logger,
    cursors: createCursors(config.CURSOR_SECRET),
    jobs,
    apartJobs: createProducer(process, redis, 'answerApart'),
    replies: createReplyPublisher(process, redis),
    notices: createNoticePublisher(process, redis),
    credits,
    auditRelay: relayAudit(process, store, identity),
    eventRelay: openEventRelay(process, store, config, 'agents'),
    limits: {
      inFlight: config.ORGANIZATION_ANSWERS_IN_FLIGHT,
      waiting: config.ORGANIZATION_ANSWERS_WAITING,
      deadlineMs: config.ANSWER_DEADLINE_SECONDS * 1000,
    },
    now,
  };
}

/** Every table of the schema that has an entity; test/schema.test.ts compares them with the migrations. */
export const entities = [
  AgentCategoryCountEntity,
  AgentCountEntity,
  AgentEntity,
  AnswerEntity,
  AnswerKeyEntity,
  AnswerLineEntity,
  AnswerStepEntity,
  ConversationCountEntity,
  ConversationEntity,
  DataSourceEntity,
  DeletedAgentEntity,
  MessageEntity,
  MessageFeedbackEntity,
];

/** Every fixed statement by name; test/schema.test.ts prepares them. Lists with filters and a few sweeps make theirs from parts. */
export const statements: Readonly<Record<string, string>> = {
  ...answerStatements,
  ...countStatements,
  ...deletedAgentStatements,
  ...dataSourceStatements,
  ...conversationsStatements,
};
