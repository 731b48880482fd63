import { createResultBudget, openStatementGate } from '@agent-service/business-data';
import { type Client, openClient } from '@agent-service/contracts';
import { createModels } from '@agent-service/models';
import { readModelsFile } from '@agent-service/models/models-file';
import {
  createReachabilityCheck,
  createReplyPublisher,
  createReplyWriters,
  openRedis,
  openWorkerChannel,
  pauseOnFault,
  type RedisConnections,
  startWorker,
} from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import { rootReasonOf } from '@agent-service/runtime/failures';
import { sleep } from '@agent-service/work';
import { createAnswersApi } from './answers-api.ts';
import { createApartHandler } from './apart/processes.ts';
import { takeAssignedAnswers } from './assigned-answers.ts';
import type { AnswerWorkerConfig } from './config.ts';
import type { WorkerDeps } from './deps.ts';
import { createInFlightAnswers, startLeases } from './in-flight-answers.ts';
import { createAnswerHandler, runAssigned } from './jobs/answer.ts';
import { createToday } from './jobs/ask-model.ts';
import { createMeters } from './meters.ts';
import { createAnswerTools } from './tools/answer-tools.ts';
import { createTenantSources } from './tools/sources.ts';

export interface Timing {
  readonly renewEveryMs?: number;
}

/** The part of a worker's concurrency that it may wait for answers with. */
const maxWaitingShare = 0.5;
/** A worker whose answers fill this part of its concurrency takes all others from the queue. */
const maxActiveShare = 0.75;
/** A child process checks one statement at a time; the second thread is ready in case the first has to be replaced. */
const apartThreads = 2;
/** Bytes of query results that the process holds at a time, as PostgreSQL sent them. */
const maxResultBytes = 128 * 1024 * 1024;
/** A third of the duration of a lease. */
const defaultRenewalMs = 5_000;

/** Composes the worker. It stops in reverse: first the jobs, then their leases, then the connections of both. */
export async function start(process: ProcessContext, config: AnswerWorkerConfig, timing: Timing = {}): Promise<void> {
  const { deps, redis, agents } = await composeDeps(process, config, { ...timing, apart: false });
  const { answers, meters } = deps;
  const drainMs = config.ANSWER_DRAIN_MS;
  const apart = await startWorker(process, redis, 'answerApart', {
    concurrency: config.ANSWER_APART_PROCESSES * config.ANSWER_APART_SHARED,
    drainMs,
    handle: createApartHandler(process, { answers, meters, config }),
  });
  process.stopping.addEventListener('abort', () => apart.pause(), { once: true });
  const jobs = await startWorker(process, redis, 'answer', {
    concurrency: config.ANSWER_CONCURRENCY,
    drainMs,
    handle: createAnswerHandler(deps),
  });
  void pauseOnFault(process, { workers: [apart, jobs], findFault: createReachabilityCheck('agents', agents) });
  takeAssignedAnswers(process, {
    answers,
    jobs,
    capacity: Math.min(config.ANSWER_WAITING_CAPACITY, Math.floor(config.ANSWER_CONCURRENCY * maxWaitingShare)),
    maxActive: Math.floor(config.ANSWER_CONCURRENCY * maxActiveShare),
    run: ({ answer, attempt }, stopping) => runAssigned(deps, answer, attempt, stopping),
  });
}

interface Composed {
  readonly deps: WorkerDeps;
  readonly redis: RedisConnections;
  readonly agents: Client<'agents'>;
}

/** Composes what runs answers, in a worker or in a child process for answers that have lost a lease. */
export async function composeDeps(
  process: ProcessContext,
  config: AnswerWorkerConfig,
  { renewEveryMs = defaultRenewalMs, apart }: Timing & { readonly apart: boolean },
): Promise<Composed> {
  const { now } = process.clock;
  const models = createModels(process, await readModelsFile(config.MODELS_FILE), { env: config.environment, locale: config.DATA_LOCALE });
  const agents = openClient(process, 'agents', { address: config.AGENTS_ADDRESS, as: 'answer-worker', config, followsClock: true });
  process.health.addCheck('agents', () => agents.checkHealth());
  await waitForTime(process, agents);
  const redis = await openRedis(process, config);
  process.health.addCheck('redis', () => redis.commands.ping());

  const inFlightAnswers = createInFlightAnswers(now);
  const channel = await openWorkerChannel(process, redis, (notices) => {
    for (const { id, attempt } of notices) inFlightAnswers.interrupt(id, attempt, 'unwanted');
  });
  const meters = createMeters(process.metrics);
  const answers = createAnswersApi(agents, { workerChannel: channel.address });
  const sources = createTenantSources(process, { roles: config.DATA_SOURCE_ROLES, allowedNetworks: config.DATA_SOURCE_ALLOWED_NETWORKS });
  const gate = openStatementGate(process, apart ? { threads: apartThreads } : {});
  const timeZone = config.DATA_TIME_ZONE;
  const toolDeps = { agents, sources, gate, budget: createResultBudget(maxResultBytes), meters, now, timeZone };
  const publisher = createReplyPublisher(process, redis);
  const deps: WorkerDeps = {
    answers,
    inFlightAnswers,
    models,
    toolsOf: (options) => createAnswerTools(toolDeps, options),
    replies: createReplyWriters((name, reply) => publisher.publish(name, reply)),
    meters,
    logger: process.logger,
    now,
    today: createToday(now, timeZone),
  };
  startLeases(process, deps, renewEveryMs);
  return { deps, redis, agents };
}

const retryTimeMs = 250;

/** Deadlines of answers are times of day, so no answer is begun before the clock was compared with that of agents. */
async function waitForTime({ clock, stopping, logger }: ProcessContext, agents: Client<'agents'>): Promise<void> {
  const logged = new Set<string>();
  function logOnce(cause: unknown): void {
    // Without the durations and ports, in which texts about one fault differ.
    const reason = rootReasonOf(cause).replaceAll(/\d+/g, '');
    if (!logged.has(reason)) logger.warn({ event: 'waiting_for_agents', err: cause });
    logged.add(reason);
  }
  while (!clock.isMeasured) {
    await agents.checkHealth().catch(logOnce);
    if (!clock.isMeasured && !(await sleep(retryTimeMs, stopping))) return;
  }
}
